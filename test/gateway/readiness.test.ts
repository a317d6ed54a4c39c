// /readyz tells whether the database takes changes; a pure worker serves that and nothing else.
import { expect, test } from 'vitest'
import { pino } from 'pino'
import { startApp } from '../../src/app/start.ts'
import { createReadiness } from '../../src/gateway/health.ts'
import { startTestApp } from '../test-app.ts'
import { ownThreads } from '@mediagen/storage/sqlite/threads.ts'
import { holdStore, openTestStore } from '../test-store.ts'

test('a database that takes no changes is not ready, in words, and ready again once it does', async () => {
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api' }, { threads: ownThreads })
  const ready = async () => {
    const response = await fetch(`${app.app.httpUrl}/readyz`)
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
  {
    await using _held = await holdStore(app.config.dataDir)
    const { status, headers, body } = await ready()
    expect(headers.get('retry-after')).toBe('1')
    expect([status, body]).toEqual([
      503,
      { status: 'not ready', reason: expect.stringMatching(/^the database cannot be written: /) },
    ])
  }
  await expect.poll(async () => (await ready()).status).toBe(200)
})

test('a store that is closed does not pass its check, one that is open does and is not changed by it', async () => {
  const store = await openTestStore()
  await store.check()
  expect((await store.verifyLedger()).problems).toEqual([])
  await store.close()
  await expect(store.check()).rejects.toThrow('closed')
  await store[Symbol.asyncDispose]()
})

test('readiness is asked once a second, however many ask', async () => {
  let asked = 0
  const unready = createReadiness(async () => `reason ${(asked += 1)}`)
  expect(await Promise.all(Array.from({ length: 100 }, unready))).toEqual(Array(100).fill('reason 1'))
})

test('a pure worker serves health and metrics and nothing else, and runs jobs', async () => {
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
  const log = pino({ level: 'silent' })
  await using worker = await startApp({ ...app.config, roles: new Set(['worker']) }, { log })
  expect(worker.grpcUrl).toBeNull()
  const statusOf = async (path: string): Promise<number> => (await fetch(worker.httpUrl + path)).status
  for (const path of ['/healthz', '/readyz', '/metrics']) expect([path, await statusOf(path)]).toEqual([path, 200])
  for (const path of ['/', '/v1/models', '/openapi.json', '/assets/x', '/mediagen.v1.WalletService/GetWallet'])
    expect([path, await statusOf(path)]).toEqual([path, 404])
  const { body } = await app.generate('test/instant/text-to-image', { prompt: 'x' })
  expect(body.status).toBe('succeeded')
})
