// What the REST door refuses by itself is counted and logged, and nothing is logged twice (P171).
import { createClient } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { WalletService } from '../../gen/mediagen/v1/wallet_pb.ts'
import { createLogger } from '../../src/app/observe/log.ts'
import { startApp } from '../../src/app/start.ts'
import { readConfig } from '../../src/config.ts'
import { keepLines, keepLog } from '../kept-log.ts'
import { startTestApp } from '../test-app.ts'

test('a refusal at the door is counted and logged with request id, method, path and code, without its query', async () => {
  const { lines, log } = keepLog()
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api' }, { log })
  const send = (path: string, init: RequestInit = {}) =>
    fetch(app.app.httpUrl + path, {
      ...init,
      headers: { authorization: `Bearer ${app.account.key}`, 'content-type': 'application/json', ...init.headers },
    })
  const refused = [
    ['invalid_request', 'POST', '/v1/quotes', { body: '{' }],
    ['unsupported_media_type', 'POST', '/v1/quotes', { body: 'x', headers: { 'content-type': 'text/plain' } }],
    ['payload_too_large', 'POST', '/v1/quotes', { body: `"${'x'.repeat(2_000_000)}"` }],
    ['route_not_found', 'GET', '/v1/nothing?secret=1', {}],
    ['method_not_allowed', 'DELETE', '/v1/quotes', {}],
    ['invalid_request', 'GET', '/v1/%zz', {}],
  ] as const
  for (const [code, method, path, init] of refused) {
    const response = await send(path, { method, ...init })
    const { request_id } = (await response.json()) as { request_id: string }
    const told = lines.filter((line) => line.request_id === request_id)
    expect(told).toMatchObject([{ level: 30, code, method, path: path.split('?')[0] }])
  }
  expect(JSON.stringify(lines)).not.toContain('secret')
  const metrics = await (await send('/metrics')).text()
  expect(metrics).toContain('mediagen_http_refusals_total{code="invalid_request"} 2')
  expect(metrics).toContain('mediagen_http_refusals_total{code="payload_too_large"} 1')
})

test('what a service refused is in the log once; a bug is told there with its cause once, and in short at the door', async () => {
  const { lines, log } = keepLog()
  let broken = false
  const clock = {
    nowMs() {
      if (broken) throw new Error('a broken clock')
      return Date.now()
    },
  }
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api' }, { log, clock })
  const authorization = `Bearer ${app.account.key}`
  const ask = async (path: string) =>
    (await (await fetch(app.app.httpUrl + path, { headers: { authorization } })).json()) as { request_id: string }
  const missing = await ask('/v1/jobs/job_none')
  expect(lines.filter((line) => line.request_id === missing.request_id)).toHaveLength(1)
  broken = true
  const bug = await ask('/v1/wallet')
  broken = false
  const told = lines.filter((line) => line.request_id === bug.request_id)
  expect(told.filter((line) => JSON.stringify(line).includes('a broken clock'))).toHaveLength(1)
  expect(told).toHaveLength(2)
  expect(JSON.stringify(told[1]).length).toBeLessThan(400)
})

test('a gateway whose core is dead logs each failure and counts it', async () => {
  const { lines, log } = keepLog()
  const settings = { MEDIAGEN_CORE_URL: 'http://127.0.0.1:1', MEDIAGEN_HTTP_PORT: '0' }
  await using gateway = await startApp(readConfig(settings), { log })
  const headers = { authorization: `Bearer mgk_${'x'.repeat(43)}` }
  const response = await fetch(`${gateway.httpUrl}/v1/wallet`, { headers })
  const { request_id } = (await response.json()) as { request_id: string }
  expect(lines.filter((line) => line.request_id === request_id)).toMatchObject([
    { level: 50, code: 'shutting_down', path: '/v1/wallet', reason: expect.any(String) },
  ])
  const metrics = await (await fetch(`${gateway.httpUrl}/metrics`)).text()
  expect(metrics).toContain('mediagen_http_refusals_total{code="shutting_down"} 1')
})

/** How many lines there may be from now on at so many a second, however long it takes. */
function linesInTime(perSecond: number): () => number {
  const begun = performance.now()
  return () => perSecond * (Math.floor((performance.now() - begun) / 1000) + 2)
}

test('MEDIAGEN_MAX_REFUSAL_LINES a second are logged of strangers, and one line says how many more; each is counted', async () => {
  const { lines, sink } = keepLines()
  const log = createLogger('info', sink)
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_MAX_REFUSAL_LINES: '3' }, { log })
  const path = `/${'long/'.repeat(2000)}`
  const most = linesInTime(3)
  const asked = Array.from({ length: 40 }, () => fetch(app.app.httpUrl + path).then((answer) => answer.text()))
  // The words stand there twice, in the form of OpenAI's interface as well.
  for (const text of await Promise.all(asked)) expect(text.length).toBeLessThan(1000)
  const told = () => lines.filter(({ code }) => code === 'route_not_found')
  const more = () => lines.filter(({ refused }) => refused !== undefined)
  // One such line for each second that they took.
  const untold = () => more().reduce((sum, line) => sum + line.codes.route_not_found, 0)
  await expect.poll(() => told().length + untold()).toBe(40)
  expect(untold()).toBeGreaterThan(0)
  expect(told().length).toBeLessThanOrEqual(most())
  for (const line of told()) expect(JSON.stringify(line).length).toBeLessThan(900)
  const metrics = await (await fetch(`${app.app.httpUrl}/metrics`)).text()
  expect(metrics).toContain('mediagen_http_refusals_total{code="route_not_found"} 40')
  // Callers with a key are told of one by one.
  const whose = { authorization: `Bearer ${app.account.key}`, 'content-type': 'application/json' }
  const known = () => fetch(`${app.app.httpUrl}/v1/quotes`, { method: 'POST', headers: whose, body: '{' })
  await Promise.all(Array.from({ length: 10 }, known))
  expect(lines.filter(({ code }) => code === 'invalid_request')).toHaveLength(10)
})

test('MEDIAGEN_MAX_REFUSAL_LINES holds for calls, too', async () => {
  const { lines, sink } = keepLines()
  const log = createLogger('info', sink)
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_MAX_REFUSAL_LINES: '3' }, { log })
  const wallet = createClient(WalletService, app.app.services)
  const headers = { authorization: `Bearer mgk_${'0'.repeat(43)}` }
  const most = linesInTime(3)
  await Promise.allSettled(Array.from({ length: 40 }, () => wallet.getWallet({}, { headers })))
  await expect.poll(() => lines.some(({ refused }) => refused !== undefined)).toBe(true)
  expect(lines.filter(({ code }) => code === 'invalid_api_key').length).toBeLessThanOrEqual(most())
})
