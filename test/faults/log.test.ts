// The log's disk is full, or its descriptor is gone: lines are lost and counted, and nothing else happens.
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Loss, LogStream } from '../../src/app/observe/log-stream.ts'
import { openCommandLine, watchEnd } from '../cli/command-line.ts'
import { makeFolder, mountDisk, whyNoMounts } from './fixture.ts'

const full = '/dev/full'
const noMounts = whyNoMounts()

/** A stream, and what it said about losses. */
function openStream(descriptor: number): { stream: LogStream; losses: Loss[] } {
  const losses: Loss[] = []
  return { stream: new LogStream(descriptor, (loss) => losses.push(loss)), losses }
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

test.each(['on its standard output', 'on both of its outputs'])(
  'a server with a full disk %s serves, counts, and stops',
  async (where) => {
    await using line = openCommandLine()
    const [http, admin] = [await findPort(), await findPort()]
    const output = openSync(full, 'w')
    const server = await line.start(
      ['serve', '--json'],
      {
        MEDIAGEN_LOG_LEVEL: 'info',
        MEDIAGEN_HTTP_PORT: String(http),
        MEDIAGEN_ADMIN_PORT: String(admin),
      },
      undefined,
      ['ignore', output, where.includes('both') ? output : 'pipe'],
    )
    closeSync(output)
    const ended = watchEnd(server)
    const isWell = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${http}/healthz`)).ok
    await expect.poll(() => isWell().catch(() => server.exitCode ?? false), { timeout: 60_000 }).toBe(true)
    await expect
      .poll(async () => (await fetch(`http://127.0.0.1:${admin}/metrics`)).text(), { timeout: 20_000 })
      .toMatch(/^mediagen_log_lines_lost_total [1-9]/m)
    expect(await isWell()).toBe(true)
    server.kill('SIGTERM')
    expect(await ended).toMatchObject({ status: 0, stderr: '' })
  },
)

test('lines for a full disk or a descriptor that takes none are counted, and the exit waits for nothing', async () => {
  using folder = makeFolder()
  writeFileSync(join(folder.path, 'read-only'), '')
  const closed = 1_000_000
  for (const descriptor of [openSync(full, 'w'), openSync(join(folder.path, 'read-only'), 'r'), closed]) {
    const { stream } = openStream(descriptor)
    stream.write('one\ntwo\n')
    await expect.poll(() => stream.lost).toBe(2)
    stream.write('three\n')
    stream.write('four\n')
    stream.flushSync()
    expect(stream.lost).toBe(3)
  }
})

test('a reader that stands still costs bounded memory', () => {
  const { stream } = openStream(openSync(full, 'w'))
  const line = `${'x'.repeat(1024 * 1024 - 1)}\n`
  for (let written = 0; written < 20; written += 1) stream.write(line)
  expect(stream.lost).toBeGreaterThanOrEqual(11)
})

test('a reader that has gone is no loss, as before', async () => {
  await using line = openCommandLine()
  const server = await line.serve({ MEDIAGEN_LOG_LEVEL: 'info' })
  server.process.stdout?.destroy()
  // Each is a line.
  for (let calls = 0; calls < 3; calls += 1) expect((await fetch(`${server.httpUrl}/v1/models`)).status).toBe(401)
  expect(await (await fetch(`${server.httpUrl}/metrics`)).text()).toMatch(/^mediagen_log_lines_lost_total 0$/m)
  expect(await server.stop()).toMatchObject({ status: 0, stderr: '' })
})

test.skipIf(noMounts)(`with room again, lines are whole and the loss is told once${noMounts}`, async () => {
  using folder = makeFolder()
  using _disk = mountDisk(folder.path, '64k')
  const [padding, file] = [join(folder.path, 'padding'), join(folder.path, 'log')]
  writeFileSync(padding, Buffer.alloc(60 * 1024))
  const { stream, losses } = openStream(openSync(file, 'a'))
  // The second is torn by the end of the room.
  stream.write(`${'a'.repeat(3000)}\n${'b'.repeat(3000)}\n`)
  await expect.poll(() => stream.lost).toBe(1)
  stream.write('lost\n')
  await expect.poll(() => stream.lost).toBe(2)
  expect(losses).toEqual([])
  expect(statSync(file).size).toBe(4096)
  rmSync(padding)
  stream.write('kept\n')
  await expect.poll(() => losses).toEqual([{ lines: 2, code: 'ENOSPC' }])
  const lines = readFileSync(file, 'utf8').split('\n')
  expect([lines[0]?.length, lines[2], lines.length]).toEqual([3000, 'kept', 4])
})
