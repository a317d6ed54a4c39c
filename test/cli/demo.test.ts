// `demo`: what `npm start` runs. The first minute of everyone who clones this project.
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { openClient, openCommandLine, watchEnd } from './command-line.ts'

test('demo --once leaves a real picture and names it; the second run shows it again, and charges nothing', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: '' })
  // The whole program, to the end of its process; the other tests run it in theirs.
  const { status, stdout, stderr } = await line.spawn(['demo', '--once', '--json'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const first = JSON.parse(stdout)
  const file = join(line.folder, first.file)
  const picture = await sharp(readFileSync(file)).raw().toBuffer({ resolveWithObject: true })
  expect(picture.info).toMatchObject({ width: 1280, height: 800 })
  expect((await sharp(file).metadata()).format).toBe('png')
  expect((await sharp(file).stats()).entropy, 'not one colour').toBeGreaterThan(1)
  expect(statSync(join(line.dataDir, 'demo.json')).mode & 0o077, 'the key is readable by its owner only').toBe(0)

  rmSync(file)
  const second = await line.run(['demo', '--once'])
  expect(second).toMatchObject({ status: 0, stderr: '' })
  expect(second.stdout).toContain('made by an earlier start; nothing was charged again')
  expect(second.stdout).toContain(`${first.file}  1280 x 800`)
  expect(existsSync(file)).toBe(true)
  const balance = async () =>
    (await line.json(['accounts', 'list'])).map(({ available }: { available: number }) => available)
  expect(await balance()).toEqual([1000 - first.credits])

  // A picture that is gone is made again.
  const user = openCommandLine({ MEDIAGEN_KEY: first.key, MEDIAGEN_DATA_DIR: line.dataDir, MEDIAGEN_CATALOG: '' })
  await using _ = user
  const server = await user.serve()
  await user.json(['delete', first.job_id], { MEDIAGEN_URL: server.httpUrl })
  await server.stop()
  const third = await line.json(['demo', '--once'])
  expect([third.account_id, third.job_id === first.job_id, third.credits]).toEqual([
    first.account_id,
    false,
    first.credits,
  ])
  expect(await balance()).toEqual([1000 - 2 * first.credits])
})

test('a stop that waits for work in hand says so', async () => {
  await using line = openCommandLine({ MEDIAGEN_STOP_GRACE_SECONDS: '600' })
  const child = await line.start(['demo', '--json'])
  const ended = watchEnd(child)
  const [said] = await once(child.stdout as Readable, 'data')
  const { http_url, key } = JSON.parse(said)
  const client = openClient(http_url, key)
  const gate = join(line.folder, 'gate')
  await client.generate('test/gate/text-to-image', { gate }, false)
  await expect.poll(async () => (await client.send('/v1/jobs?status=running')).body.total).toBe(1)
  child.kill('SIGINT')
  const [news] = await once(child.stderr as Readable, 'data')
  expect(news).toMatch(/^\nStopping\. Work in hand has 600 s to finish.*Ctrl-C again stops at once\.\n$/)
  writeFileSync(gate, '')
  expect((await ended).status).toBe(0)
})

test('a picture that cannot be had under the public address is one sentence and status 1, and no file', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: '' })
  const stranger = createServer((_request, response) => response.writeHead(404).end('{}')).listen(0, '127.0.0.1')
  await once(stranger, 'listening')
  const { port } = stranger.address() as AddressInfo
  for (const url of [`http://127.0.0.1:${port}`, 'http://no-such-host.invalid']) {
    const { status, stdout, stderr } = await line.run(['demo', '--once'], { MEDIAGEN_PUBLIC_URL: url })
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^mediagen: The picture was made, but [^\n]+MEDIAGEN_PUBLIC_URL[^\n]+\n$/)
  }
  stranger.close()
  expect(existsSync(join(line.dataDir, 'demo'))).toBe(false)
})
