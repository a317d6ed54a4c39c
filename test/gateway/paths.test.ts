// Paths as strangers write them, on a bare socket: nothing is tidied, everything is answered in the form of the contract (P83).
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { expectProblem } from './problem.ts'
import { exchange, parseAnswer, sendRaw } from './raw-http.ts'

const app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
afterAll(() => app[Symbol.asyncDispose]())

const get = (path: string, headers: Record<string, string> = {}) =>
  sendRaw(app.url, { path, headers: { authorization: `Bearer ${app.account.key}`, ...headers } })

describe('a model id in a path', () => {
  test.each([
    ['as it is', 'test/instant/text-to-image'],
    ['with its slashes encoded', 'test%2Finstant%2Ftext-to-image'],
    ['with its slashes encoded in lower case', 'test%2finstant%2ftext-to-image'],
    ['with some of them encoded', 'test/instant%2Ftext-to-image'],
    ['with a letter encoded', 'test/inst%61nt/text-to-image'],
  ])('%s', async (_what, id) => {
    const { status, body } = await get(`/v1/models/${id}`)
    expect([status, body.id]).toEqual([200, 'test/instant/text-to-image'])
  })

  test.each([
    ['with a slash at its end', 'test/instant/text-to-image/'],
    ['with a slash too many', 'test//instant/text-to-image'],
    ['in capitals', 'TEST/instant/text-to-image'],
    ['encoded twice', 'test%252Finstant%252Ftext-to-image'],
    ['with dots', 'test/../test/instant/text-to-image'],
    ['that climbs', '../wallet'],
    ['that climbs, encoded', '..%2f..%2fetc%2fpasswd'],
    ['with a null byte', 'test%00'],
    ['in other letters', '%D1%82%D0%B5%D1%81%D1%82'],
    ['of 2000 letters', 'x'.repeat(2000)],
    ['with a semicolon', 'test/instant/text-to-image;v=1'],
    ['that begins with a slash', '/test/instant/text-to-image'],
  ])('another spelling is another id: one %s', async (_what, id) => {
    expectProblem(await get(`/v1/models/${id}`), app.url, 'model_not_found')
  })

  test('an empty id is no route', async () => {
    expectProblem(await get('/v1/models/'), app.url, 'route_not_found')
  })
})

test.each(['%zz', '%', '%2', '%c3%28', '%ff'])(
  'a path that is not validly encoded is an invalid request: %s',
  async (end) => {
    const answer = await get(`/v1/models/${end}`)
    expectProblem(answer, app.url, 'invalid_request')
  },
)

test.each([
  '/',
  '/v1',
  '/v1/',
  '/v2/models',
  '/V1/models',
  '/v1/Models',
  '/v1/models/../wallet/x',
  '/v1/wallet/',
  '/v1/quotes/',
  '//v1/wallet',
  '/v1//wallet',
  '/v1/./wallet',
  '/v1/wallet;x',
  '/v1/jobs/job_x/events/',
  '/v1/jobs/job_x/nothing',
  '/assets',
])('no tidying: %s is not the route that it resembles', async (path) => {
  const { status, body } = await get(path)
  // The console lives at / of a whole server.
  expect(path === '/' ? [200, 404] : [404]).toContain(status)
  if (status === 404) expect(['route_not_found', 'model_not_found']).toContain(body.code)
})

test('an id of a job is never empty', async () => {
  expect((await get('/v1/jobs/')).status).toBe(404)
  expect((await get('/v1/jobs//events')).status).toBe(404)
})

test('an absolute request target is served like its path', async () => {
  const { status } = await get(`${app.url}/v1/wallet`)
  expect([200, 404]).toContain(status)
})

test('a path in raw UTF-8, or with a fragment, is no path of a request', async () => {
  for (const path of ['/v1/models/тест', '/v1/wallet#x']) expectProblem(await get(path), app.url, 'invalid_request')
})

describe('data that is not HTTP is answered with a problem, and the connection is closed', () => {
  test.each([
    ['a line that is no request', 'nonsense\r\n\r\n'],
    ['a header without a name', 'GET /healthz HTTP/1.1\r\nhost: x\r\n: y\r\n\r\n'],
    ['headers beyond all measure', `GET /healthz HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`],
    ['a content length that is none', 'POST /v1/quotes HTTP/1.1\r\nhost: x\r\ncontent-length: x\r\n\r\n'],
  ])('%s', async (_what, text) => {
    const answer = parseAnswer(await exchange(app.url, Buffer.from(text)))
    expectProblem(answer, app.url, 'invalid_request')
  })
})
