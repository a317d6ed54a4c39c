// Liveness, readiness and metrics, without a key. docs/contract.md, section 2.
import { afterAll, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'

const app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
afterAll(() => app[Symbol.asyncDispose]())

test('/healthz says that the process lives', async () => {
  const { status, body } = await app.send('/healthz', { key: null })
  expect([status, body]).toEqual([200, { status: 'ok' }])
})

test('/readyz says that requests can be served', async () => {
  const { status, body } = await app.send('/readyz', { key: null })
  expect([status, body]).toEqual([200, { status: 'ready' }])
})

test('/metrics is Prometheus text', async () => {
  await app.send('/v1/wallet')
  const { status, headers, body } = await app.send('/metrics', { key: null })
  expect(status).toBe(200)
  expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  expect(body).toMatch(/^# TYPE mediagen_rpc_total counter$/m)
  expect(body).toMatch(/^# TYPE mediagen_rpc_seconds histogram$/m)
  expect(body).toMatch(/^process_cpu_seconds_total \d/m)
})

test('health tells nothing of keys, accounts or folders', async () => {
  const answers = await Promise.all(['/healthz', '/readyz', '/metrics'].map((path) => app.send(path, { key: null })))
  const text = JSON.stringify(answers.map((answer) => answer.body))
  for (const secret of [app.account.key, app.account.accountId, app.folder]) expect(text).not.toContain(secret)
})
