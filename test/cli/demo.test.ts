// `demo`: what `npm start` runs. The first minute of everyone who clones this project.
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { openClient, openCommandLine, watchEnd } from './command-line.ts'

/** A server that knows no picture. */
async function openStranger() {
  const server = createServer((_request, response) => response.writeHead(404).end('{}')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.close()
    },
  }
}

test('demo --once leaves a real picture and names it; the second run shows it again, and charges nothing; where it cannot be downloaded, one sentence says so', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: '' })
  const { status, stdout, stderr } = await line.run(['demo', '--once', '--json'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const first = JSON.parse(stdout)
  const file = join(line.folder, first.file)
  const picture = await sharp(readFileSync(file)).raw().toBuffer({ resolveWithObject: true })
  expect(picture.info).toMatchObject({ width: 1280, height: 800 })
  expect((await sharp(file).metadata()).format).toBe('png')
  expect((await sharp(file).stats()).entropy, 'not one colour').toBeGreaterThan(1)
  expect(statSync(join(line.dataDir, 'demo.json')).mode & 0o077, 'the key is readable by its owner only').toBe(0)

  rmSync(file)
  // The whole program, to the end of its process; the others run in this one.
  const second = await line.spawn(['demo', '--once'])
  expect(second).toMatchObject({ status: 0, stderr: '' })
  expect(second.stdout).toContain('made by an earlier start; nothing was charged again')
  expect(second.stdout).toContain(`${first.file}  1280 x 800`)
  expect(existsSync(file)).toBe(true)
  const balance = async () => {
    const accounts: { account_id: string; available: number }[] = await line.json(['admin', 'accounts', 'list'])
    return accounts.find(({ account_id }) => account_id === first.account_id)?.available
  }
  expect(await balance()).toBe(1000 - first.credits)

  // The same picture, where it cannot be had under the public address.
  const demoFolder = join(line.dataDir, 'demo')
  rmSync(demoFolder, { recursive: true })
  await using stranger = await openStranger()
  for (const url of [stranger.url, 'http://no-such-host.invalid']) {
    const refused = await line.run(['demo', '--once'], { MEDIAGEN_PUBLIC_URL: url })
    expect(refused).toMatchObject({ status: 1, stdout: '' })
    expect(refused.stderr).toMatch(/^mediagen: The picture was made, but [^\n]+MEDIAGEN_PUBLIC_URL[^\n]+\n$/)
  }
  expect(existsSync(demoFolder)).toBe(false)

  // A picture that is gone is made again.
  {
    await using app = await startTestApp({ MEDIAGEN_DATA_DIR: line.dataDir })
    const path = `/v1/jobs/${first.job_id}`
    expect((await app.send(path, { method: 'DELETE', key: first.key })).status).toBe(204)
  }
  const third = await line.json(['demo', '--once'])
  expect([third.account_id, third.job_id === first.job_id, third.credits]).toEqual([
    first.account_id,
    false,
    first.credits,
  ])
  expect(await balance()).toBe(1000 - 2 * first.credits)
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
  const [notifications] = await once(child.stderr as Readable, 'data')
  expect(notifications).toMatch(/^\nStopping\. Work in hand has 600 s to finish.*Ctrl-C again stops at once\.\n$/)
  writeFileSync(gate, '')
  expect((await ended).status).toBe(0)
})
