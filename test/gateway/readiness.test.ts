// /readyz tells whether the database takes changes; a pure worker serves that and nothing else.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createTroubleFinder, watchStarts } from '../../src/app/observe/readiness.ts'
import { startApp } from '../../src/app/start.ts'
import { createReadiness } from '../../src/gateway/routes/health.ts'
import { ownThreads } from '../../src/storage/sqlite/threads/threads.ts'
import { StorageError } from '../../src/storage/storage-error.ts'
import { createGateEngine } from '../gate-engine.ts'
import { startOf } from '../storage/fixture.ts'
import { startTestApp } from '../test-app.ts'
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

test('P212: a store of files that takes none is not ready, in words, and ready again once it does', async () => {
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
  const ready = async () => {
    const response = await fetch(`${app.app.httpUrl}/readyz`)
    return [response.status, ((await response.json()) as { reason?: string }).reason]
  }
  const files = join(app.config.dataDir, 'assets')
  rmSync(files, { recursive: true })
  writeFileSync(files, 'no folder')
  expect(await ready()).toEqual([503, expect.stringMatching(/^files cannot be stored: /)])
  rmSync(files)
  await expect.poll(ready).toEqual([200, undefined])
})

test('P212: while the last start met a database in trouble, the server is not ready, though a check passes', async () => {
  await using store = await openTestStore()
  const { accountId } = await store.createAccount('a', 100)
  let full = true
  let nowMs = 0
  const starts = watchStarts(
    {
      startGeneration: (command) =>
        full ? Promise.reject(new StorageError('the disk is full', '53100')) : store.startGeneration(command),
    },
    () => nowMs,
  )
  const unready = createTroubleFinder(store, starts, { put: async () => {}, delete: async () => {} })
  expect(await unready()).toBeNull()
  await expect(starts.startGeneration(startOf(accountId))).rejects.toThrow('full')
  expect(await unready()).toBe('the database cannot be written: the disk is full')
  full = false
  await starts.startGeneration(startOf(accountId))
  expect(await unready()).toBeNull()
  full = true
  await expect(starts.startGeneration(startOf(accountId))).rejects.toThrow('full')
  // Nobody sends starts to a server that is not ready: it is tried again.
  nowMs += 30_000
  expect(await unready()).toBeNull()
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
  const deps = { log: pino({ level: 'silent' }), builtin: null, engines: [createGateEngine()] }
  await using worker = await startApp({ ...app.config, roles: new Set(['worker']) }, deps)
  expect(worker.grpcUrl).toBeNull()
  const statusOf = async (path: string): Promise<number> => (await fetch(worker.httpUrl + path)).status
  for (const path of ['/healthz', '/readyz', '/metrics']) expect([path, await statusOf(path)]).toEqual([path, 200])
  for (const path of ['/', '/v1/models', '/openapi.json', '/assets/x', '/mediagen.v1.WalletService/GetWallet'])
    expect([path, await statusOf(path)]).toEqual([path, 404])
  const { body } = await app.generate('test/instant/text-to-image', { prompt: 'x' })
  expect(body.status).toBe('succeeded')
})
