// Secrets of engines: named when they are missing, and in nothing that is said, stored or logged.
import { type Engine, EngineError, type EngineRun, type UpstreamRun } from '@mediagen/engine/engine.ts'
import { runOf } from '@mediagen/engine/run-of.ts'
import { expect, test } from 'vitest'
import { createLogger } from '../../src/app/observe/log.ts'
import { guardEngine } from '../../src/engines/guarded.ts'
import { createSecrets } from '../../src/engines/secrets.ts'

const key = 'r8_abc/def+"1'
const upstream: UpstreamRun = { n: 1, provider: 'p', upstreamId: key, verdict: 'failed', cost: null }
const spec = { kind: 'told', token_env: 'TOKEN' }

function createTold(run: (run: EngineRun) => Promise<never>): Engine {
  return {
    kind: 'told',
    schema: {},
    secretsOf: ({ token_env: name }) => [String(name)],
    waits: () => true,
    unready: async () => `the key ${key} is refused`,
    afterLoss: () => 'again',
    run: (_, started) => run(started),
    reconcile: async () => ({ state: 'failed', error: new EngineError('x', `no ${key}`), upstream }),
    cancel: async () => upstream,
    close: async () => {},
  }
}

test('a model whose secret is missing is not ready, and the variable is named', async () => {
  const engine = guardEngine(
    createTold(() => Promise.reject(new Error('x'))),
    createSecrets({}),
  )
  expect(await engine.unready(spec)).toBe(
    'a key that it needs is missing: the server has no environment variable TOKEN',
  )
})

test('its value is in no reason, error, checkpoint, record or line of the log', async () => {
  const secrets = createSecrets({ TOKEN: key })
  const saved: string[] = []
  const engine = guardEngine(
    createTold(async (run) => {
      await run.saveCheckpoint({ url: `https://x/?k=${encodeURIComponent(key)}` }, upstream)
      throw new EngineError('refused', `Bearer ${key} is not accepted`, true)
    }),
    secrets,
  )
  expect(await engine.unready(spec)).toBe('the key [TOKEN] is refused')
  const run = runOf({
    folder: '/',
    saveCheckpoint: async (checkpoint, record) => void saved.push(JSON.stringify([checkpoint, record])),
  })
  await expect(engine.run(spec, run)).rejects.toMatchObject({
    code: 'refused',
    message: 'Bearer [TOKEN] is not accepted',
    retryable: true,
  })
  const past = { jobId: 'j', model: 'm', checkpoint: null, signal: run.signal }
  saved.push(JSON.stringify([await engine.reconcile?.(spec, past), await engine.cancel?.(spec, past)]))
  const lines: string[] = []
  createLogger('info', { write: (line) => void lines.push(line) }, secrets).info({ header: `Bearer ${key}` }, key)
  const said = [...saved, ...lines].join('\n')
  expect(said).toContain('[TOKEN]')
  expect(said).not.toMatch(/r8_abc/)
})

test('a secret of digits spoils no number of a checkpoint', async () => {
  const saved: unknown[] = []
  const checkpoint = { since: 1_795_123_456_789, said: 'key 123456' }
  const told = createTold(async (run) => {
    await run.saveCheckpoint(checkpoint, upstream)
    throw new EngineError('refused', 'no')
  })
  const engine = guardEngine(told, createSecrets({ TOKEN: '123456' }))
  expect(await engine.unready(spec)).not.toBeNull()
  const run = runOf({ folder: '/', saveCheckpoint: async (value) => void saved.push(value) })
  await expect(engine.run(spec, run)).rejects.toMatchObject({ code: 'refused' })
  expect(saved).toEqual([{ since: checkpoint.since, said: 'key [TOKEN]' }])
})
