// How many connections there may be, in all and from one address, and that what lacks files fails nobody else (P167).
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createTestAccount, openClient, openCommandLine, testCatalog } from '../cli/command-line.ts'
import { startTestApp, type TestApp } from '../test-app.ts'
import { storeSettings } from '../test-store.ts'
import { expectProblem } from './problem.ts'
import { openRaw, type RawAnswer, type RawConnection } from './raw-http.ts'

async function ask(connection: RawConnection, path = '/healthz'): Promise<RawAnswer> {
  connection.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
  return connection.next()
}

/** Connections on which one request was answered. */
async function openServed(url: string, count: number, from?: string): Promise<RawConnection[]> {
  const connections = await Promise.all(Array.from({ length: count }, () => openRaw(url, from)))
  for (const connection of connections) expect((await ask(connection)).status).toBe(200)
  return connections
}

async function hangUp(connections: readonly RawConnection[]): Promise<void> {
  for (const { socket } of connections) socket.destroy()
  await Promise.all(connections.map(({ closed }) => closed))
}

/** Connections on which a request is under way: its body does not come. */
async function openBusy(app: TestApp, count: number): Promise<RawConnection[]> {
  const connections = await openServed(app.url, count)
  const head = `POST /v1/quotes HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${app.account.key}\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 10\r\n\r\n`
  for (const connection of connections) {
    connection.write(head)
    expect((await connection.next()).status).toBe(100)
  }
  return connections
}

test('MEDIAGEN_MAX_CONNECTIONS: when all are busy, one more is refused in words and closed; when one is free, it is served', async () => {
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_MAX_CONNECTIONS: '5' })
  const busy = await openBusy(app, 4)
  const connections = [...busy, ...(await openBusy(app, 1))]
  using refused = await openRaw(app.url)
  const answer = await refused.next()
  expectProblem(answer, app.url, 'overloaded')
  expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
  await refused.closed
  expect(connections.every(({ socket }) => !socket.destroyed)).toBe(true)
  await hangUp(connections.splice(0, 1))
  await expect
    .poll(async () => {
      using again = await openRaw(app.url)
      return (await ask(again)).status
    })
    .toBe(200)
  await hangUp(connections)
})

test('MEDIAGEN_MAX_CONNECTIONS: those on which nothing is under way make room, the oldest first', async () => {
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_MAX_CONNECTIONS: '5' })
  const busy = await openBusy(app, 2)
  using silent = await openRaw(app.url)
  const [idle] = (await openServed(app.url, 1)) as [RawConnection]
  using last = await openRaw(app.url)
  last.write('GET /healthz HT')
  const newcomers = await openServed(app.url, 2)
  await Promise.all([silent.closed, idle.closed])
  expect([...busy, ...newcomers, last].every(({ socket }) => !socket.destroyed)).toBe(true)
  last.write('TP/1.1\r\nhost: x\r\n\r\n')
  expect((await last.next()).status).toBe(200)
  await hangUp([...busy, ...newcomers])
})

describe('MEDIAGEN_MAX_CONNECTIONS_PER_ADDRESS', () => {
  test('one more from an address is refused and closed, whatever it sends; another address is served', async () => {
    await using app = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_MAX_CONNECTIONS_PER_ADDRESS: '3' })
    const served = await openServed(app.url, 3, '127.0.0.2')
    using refused = await openRaw(app.url, '127.0.0.2')
    refused.write('GET /v1/wallet HTTP/1.1\r\nhost: x\r\n\r\n')
    expectProblem(await refused.next(), app.url, 'rate_limited')
    await refused.closed
    await hangUp([...served, ...(await openServed(app.url, 1, '127.0.0.3'))])
    const { body: metrics } = await app.send('/metrics')
    expect(metrics).toContain('mediagen_http_cuts_total{reason="connections_per_address"} 1')
  })

  test('those of MEDIAGEN_TRUSTED_PROXIES are not counted by address', async () => {
    await using app = await startTestApp({
      MEDIAGEN_ROLES: 'api',
      MEDIAGEN_MAX_CONNECTIONS_PER_ADDRESS: '3',
      MEDIAGEN_TRUSTED_PROXIES: '127.0.0.0/29',
    })
    await hangUp(await openServed(app.url, 6, '127.0.0.2'))
  })
})

test('a process that may open few files takes fewer connections; jobs go on all the while', async () => {
  await using line = openCommandLine()
  const { key } = await createTestAccount(line)
  const program = join(import.meta.dirname, '../../bin/mediagen.js')
  const child = spawn('sh', ['-c', 'ulimit -n 160 && exec "$0" "$@"', process.execPath, program, 'serve', '--json'], {
    env: {
      PATH: process.env['PATH'] ?? '',
      ...(await storeSettings(line.dataDir)),
      MEDIAGEN_DATA_DIR: line.dataDir,
      MEDIAGEN_HTTP_PORT: '0',
      MEDIAGEN_GRPC_PORT: '0',
      MEDIAGEN_CATALOG: testCatalog,
      MEDIAGEN_STOP_GRACE_SECONDS: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const told: string[] = []
  const lines = createInterface({ input: child.stdout }).on('line', (text) => told.push(text))
  await expect.poll(() => told.some((text) => text.startsWith('{"http_url"'))).toBe(true)
  const { http_url: url } = JSON.parse(told.find((text) => text.startsWith('{"http_url"')) ?? '') as {
    http_url: string
  }
  expect(told.some((text) => text.includes('ulimit -n'))).toBe(true)
  const connections = await Promise.all(Array.from({ length: 200 }, () => openRaw(url)))
  await expect.poll(() => connections.filter(({ socket }) => socket.destroyed).length).toBeGreaterThanOrEqual(120)
  const open = connections.filter(({ socket }) => !socket.destroyed)
  expect(open.length).toBeGreaterThan(70)
  // The slots that these leave are enough for a whole job.
  await hangUp(open.splice(0, 2))
  await expect.poll(async () => (await fetch(`${url}/healthz`)).status).toBe(200)
  const { generate } = openClient(url, key)
  const answer = await generate('test/instant/text-to-image', { prompt: 'x' }, true)
  expect(answer.body).toMatchObject({ status: 'succeeded' })
  expect(told.filter((text) => /^\{"level":(50|60)|EMFILE/.test(text))).toEqual([])
  await hangUp(open)
  lines.close()
  child.kill('SIGTERM')
  await once(child, 'exit')
})
