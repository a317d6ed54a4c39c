// Every answer carries X-Request-Id: the client's, if it sent a sane one (P122, P124).
import { afterAll, expect, test } from 'vitest'
import { keepLog } from '../kept-log.ts'
import { startTestApp } from '../test-app.ts'
import { sendRaw } from './raw-http.ts'

const { log, lines: logged } = keepLog()
const app = await startTestApp({ MEDIAGEN_ROLES: 'api' }, { log })
afterAll(() => app[Symbol.asyncDispose]())

test.each([
  ['GET', '/v1/models'],
  ['GET', '/v1/wallet'],
  ['GET', '/v1/nothing'],
  ['GET', '/v1/quotes'],
  ['POST', '/v1/quotes'],
  ['GET', '/healthz'],
  ['GET', '/openapi.json'],
  ['GET', '/problems/internal'],
])('%s %s carries one, also when it is refused', async (method, path) => {
  const { headers } = await app.send(path, { method })
  expect(headers.get('x-request-id')).toMatch(/^[\w.:=+/-]{1,128}$/)
})

test('a path that is not validly encoded carries one too, the same in header and body', async () => {
  const { headers, body } = await sendRaw(app.url, { path: '/v1/models/%zz' })
  expect(headers.get('x-request-id')).toMatch(/\S/)
  expect(body.request_id).toBe(headers.get('x-request-id'))
})

test('each request has its own', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => app.send('/v1/wallet')))
  expect(new Set(answers.map((answer) => answer.headers.get('x-request-id'))).size).toBe(20)
})

test.each(['abc', '7f3c1c1e-0c1b-4b7a-9d3e-1f2a3b4c5d6e', 'a'.repeat(128), 'trace:1/2.3=+-_'])(
  "a sane one of the client's is kept: %s",
  async (id) => {
    const { headers, body } = await app.send('/v1/nothing', { headers: { 'x-request-id': id } })
    expect([headers.get('x-request-id'), body.request_id]).toEqual([id, id])
  },
)

test.each(['', 'a b', 'a'.repeat(129), '<script>', '"quoted"', 'caf\u00e9', 'a,b', '{}'])(
  "one that is not sane is replaced by one of the server's: %j",
  async (id) => {
    const { headers } = await app.send('/v1/wallet', { headers: { 'x-request-id': id } })
    expect(headers.get('x-request-id')).toMatch(/^req_\w+$/)
  },
)

test('the id of a request is the id under which the core logs it', async () => {
  await app.send('/v1/jobs/job_none', { headers: { 'x-request-id': 'find-me-in-the-log' } })
  const lines = logged.filter((line) => line.request_id === 'find-me-in-the-log')
  expect(lines).toContainEqual(expect.objectContaining({ rpc: 'GenerationService.GetJob', code: 'job_not_found' }))
})

test('no log line holds an API key', async () => {
  await app.send('/v1/jobs/job_none')
  await app.send('/v1/wallet', { key: `mgk_${'0'.repeat(43)}` })
  expect(logged.length).toBeGreaterThan(0)
  expect(JSON.stringify(logged)).not.toContain('mgk_')
})
