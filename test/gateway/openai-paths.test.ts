// What clients of OpenAI's interface read in refusals, wherever these are made: no repetition, the code as the reason phrase, and
// what is wrong with a base URL (P256, P269, P270).
import { createRouterTransport } from '@connectrpc/connect'
import { afterAll, expect, test } from 'vitest'
import { overloaded } from '../../src/app/doors/overload.ts'
import { startTestApp } from '../test-app.ts'
import { startBareGateway } from './bare-gateway.ts'
import { exchange, parseAnswer, type RawRequest, toRequest } from './raw-http.ts'

const app = await startTestApp({ MEDIAGEN_MAX_BODY_BYTES: '1024' })
afterAll(() => app[Symbol.asyncDispose]())

async function ask(request: RawRequest, url = app.url) {
  const bytes = await exchange(url, toRequest({ ...request, headers: { connection: 'close', ...request.headers } }))
  const [line = ''] = bytes.toString('latin1').split('\r\n')
  return { line, ...parseAnswer(bytes) }
}

const authorization = { authorization: `Bearer ${app.account.key}` }
const type = { 'content-type': 'application/json' }
const generations = '/v1/images/generations'

test.each<[string, RawRequest, number, string]>([
  ['no key', { method: 'POST', path: generations, headers: type, body: '{}' }, 401, 'authentication_required'],
  ['no such route', { method: 'POST', path: '/v1/images/upscales', headers: type }, 404, 'route_not_found'],
  ['none of audio', { method: 'POST', path: '/v1/audio/transcriptions', headers: type }, 404, 'route_not_found'],
  ['no such method', { path: generations, headers: authorization }, 405, 'method_not_allowed'],
  [
    'a body that is too large',
    { method: 'POST', path: generations, headers: { ...type, ...authorization }, body: ' '.repeat(2000) },
    413,
    'payload_too_large',
  ],
])('%s', async (_what, request, status, code) => {
  const answer = await ask(request)
  expect(answer).toMatchObject({ line: `HTTP/1.1 ${status} ${code}`, body: { code } })
  expect(answer.headers.get('x-should-retry')).toBe('false')
})

test('an overloaded server, and a request that stalls', async () => {
  const refusing = { refuses: () => true, noteExempt() {}, refusal: overloaded(1000), connectBody: () => '' }
  await using busy = await startBareGateway(
    createRouterTransport(() => {}),
    { overload: refusing },
  )
  await using hasty = await startBareGateway(
    createRouterTransport(() => {}),
    {
      windowMs: 100,
      addDoors: (door) => void door.post(generations, async () => ({})),
    },
  )
  const stalled = { method: 'POST', path: generations, headers: { ...type, 'content-length': '100' } }
  for (const [{ port }, line] of [
    [busy, 'HTTP/1.1 503 overloaded'],
    [hasty, 'HTTP/1.1 408 request_timeout'],
  ] as const) {
    const answer = await ask(stalled, `http://127.0.0.1:${port}`)
    expect([answer.line, answer.headers.get('x-should-retry')]).toEqual([line, 'false'])
  }
})

test('other paths are answered as before', async () => {
  const answer = await ask({ path: '/v1/imagesque' })
  expect([answer.line, answer.headers.get('x-should-retry')]).toEqual(['HTTP/1.1 404 Not Found', null])
})

test.each([
  ['//v1/images/generations', 'two slashes'],
  ['/v1/v1/images/generations', 'already ends in /v1'],
  ['/v1//v1/models', 'already ends in /v1'],
])('%s', async (path, words) => {
  const answer = await ask({ method: 'POST', path, headers: type, body: '{}' })
  expect(answer.body).toMatchObject({ status: 404, code: 'route_not_found', detail: expect.stringContaining(words) })
})
