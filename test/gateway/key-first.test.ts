// The key is looked at when the head of a request is there: nothing of what a stranger sends is read (P86, P135, P205).
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { expectProblem, pointersOf } from './problem.ts'
import { openRaw, parseAnswer } from './raw-http.ts'

const app = await startTestApp({
  MEDIAGEN_ROLES: 'api',
  MEDIAGEN_MAX_VALUES: '500',
  MEDIAGEN_MAX_VIOLATIONS: '7',
})
afterAll(() => app[Symbol.asyncDispose]())

const model = 'test/instant/text-to-image'
const stranger = `mgk_${'0'.repeat(43)}`

/** Sends the head of a request whose body never comes; answers with what comes back. */
async function sendHead(path: string, key: string | null): Promise<Awaited<ReturnType<typeof parseAnswer>>> {
  const socket: Socket = connect(Number(new URL(app.url).port), '127.0.0.1')
  const authorization = key === null ? '' : `authorization: Bearer ${key}\r\n`
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\n${authorization}content-type: application/json\r\ncontent-length: 1000000\r\n\r\n`,
  )
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return parseAnswer(bytes)
}

describe('before a byte of the body has come', () => {
  test.each(['/v1/quotes', '/v1/generate', '/v1/files', '/v1/webhooks', '/v1/jobs/job_x/cancel'])(
    'POST %s is refused without a key, and with a wrong one',
    async (path) => {
      expectProblem(await sendHead(path, null), app.url, 'authentication_required')
      expectProblem(await sendHead(path, stranger), app.url, 'invalid_api_key')
    },
  )

  test('a key that lacks the permission is refused', async () => {
    const key = await app.createKey(app.account.accountId, ['models:read'])
    for (const path of ['/v1/quotes', '/v1/webhooks'])
      expectProblem(await sendHead(path, key), app.url, 'missing_permission')
  })
})

test('a body is asked for when the key is good, and not before', async () => {
  const expecting = (key: string) =>
    `POST /v1/quotes HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n`
  using unknown = await openRaw(app.url)
  unknown.write(expecting(stranger))
  expectProblem(await unknown.next(), app.url, 'invalid_api_key')
  using known = await openRaw(app.url)
  known.write(expecting(app.account.key))
  expect((await known.next()).status).toBe(100)
  known.write('{}')
  expectProblem(await known.next(), app.url, 'invalid_request')
})

test('a body that would be refused is not asked for', async () => {
  const expecting = (path: string, headers: string) =>
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${app.account.key}\r\nexpect: 100-continue\r\n${headers}\r\n\r\n`
  for (const [path, headers, code] of [
    ['/v1/quotes', 'content-type: application/json\r\ncontent-length: 99999999', 'payload_too_large'],
    ['/mcp', 'content-type: application/json\r\ncontent-length: 99999999', 'payload_too_large'],
    ['/v1/files', 'content-type: image/png\r\ncontent-length: 9999999999', 'payload_too_large'],
    ['/v1/quotes', 'content-type: text/plain\r\ncontent-length: 10', 'unsupported_media_type'],
    ['/v1/files', 'content-type: text/plain\r\ncontent-length: 10', 'unsupported_media_type'],
    [
      '/v1/quotes',
      'content-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 10',
      'unsupported_media_type',
    ],
  ] as const) {
    using connection = await openRaw(app.url)
    connection.write(expecting(path, headers))
    expectProblem(await connection.next(), app.url, code)
  }
})

describe('a refusal is read although the body is still being sent', () => {
  const body = Buffer.alloc(1_500_000, 'x')
  const post = (path: string, headers: string) =>
    `POST ${path} HTTP/1.1\r\nhost: x\r\n${headers}\r\ncontent-length: ${body.length}\r\n\r\n`
  const good = `authorization: Bearer ${app.account.key}`
  const json = 'content-type: application/json'

  test.each([
    ['too large', post('/v1/quotes', `${good}\r\n${json}`), 'payload_too_large'],
    ['of another type', post('/v1/quotes', `${good}\r\ncontent-type: text/plain`), 'unsupported_media_type'],
    ['of a stranger', post('/v1/quotes', `authorization: Bearer ${stranger}\r\n${json}`), 'invalid_api_key'],
    ['for no route', post('/v1/none', json), 'route_not_found'],
  ] as const)('%s, and the connection serves the next request', async (_what, head, code) => {
    using connection = await openRaw(app.url)
    connection.write(head)
    expectProblem(await connection.next(), app.url, code)
    connection.write(body)
    connection.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
    expect((await connection.next()).status).toBe(200)
  })

  test('what is no HTTP', async () => {
    using connection = await openRaw(app.url)
    connection.write('no HTTP at all\r\n\r\n')
    expectProblem(await connection.next(), app.url, 'invalid_request')
    let error: Error | null = null
    connection.socket.once('error', (thrown) => (error = thrown))
    connection.socket.end(body)
    await connection.closed
    expect(error).toBeNull()
  })
})

describe('MEDIAGEN_MAX_VALUES', () => {
  // The body, the model, the input, the prompt and the list are five.
  const body = (values: number) => ({ model, input: { prompt: 'x', list: Array(values - 5).fill(0) } })

  test('the maximum number is read; one more is refused by name', async () => {
    expect((await app.send('/v1/quotes', { body: body(500) })).body.code).toBe('invalid_input')
    const answer = await app.send('/v1/quotes', { body: body(501) })
    expectProblem(answer, app.url, 'invalid_request')
    expect(answer.body.detail).toContain('more than the 500 values')
  })

  test('without a key it is the key that is missing', async () => {
    expectProblem(await app.send('/v1/quotes', { key: null, body: body(501) }), app.url, 'authentication_required')
  })
})

describe('MEDIAGEN_MAX_VIOLATIONS', () => {
  const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, 1]))

  test.each([
    [
      'of a body',
      (count: number) => app.send('/v1/quotes', { body: { model, input: { prompt: 'x' }, ...fields(count) } }),
    ],
    [
      'of an input',
      (count: number) => app.send('/v1/quotes', { body: { model, input: { prompt: 'x', ...fields(count) } } }),
    ],
    ['of a query', (count: number) => app.send(`/v1/models?${Object.keys(fields(count)).join('=1&')}=1`)],
    ['of a body that should be empty', (count: number) => app.send('/v1/jobs/job_x/cancel', { body: fields(count) })],
  ])('all violations %s are listed up to it; beyond it how many more there are', async (_what, ask) => {
    const all = await ask(7)
    expect(pointersOf(all).filter(Boolean)).toHaveLength(7)
    expect(all.body.errors).toHaveLength(7)
    const some = await ask(8)
    expect(some.body.errors).toHaveLength(8)
    expect(some.body.errors.at(-1)).toEqual({ pointer: '', detail: 'and 1 more problem' })
  })
})

test('a cached caller is not looked up again, but a revoked key is refused', async () => {
  const key = await app.createKey(app.account.accountId, ['wallet:read'])
  expect((await app.send('/v1/wallet', { key })).status).toBe(200)
  const { keys } = await app.admin.listKeys({ accountId: app.account.accountId, limit: 1 })
  await app.admin.revokeKey({ keyId: keys[0]?.keyId ?? '' })
  await expect
    .poll(async () => (await app.send('/v1/wallet', { key })).body.code, { timeout: 1500, interval: 50 })
    .toBe('invalid_api_key')
})
