// Request bodies: JSON, nothing unknown, nothing missing, nothing converted (P88, P117, P119, P121, P139, P140, P202, P203, P204).
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { expectProblem, pointersOf } from './problem.ts'
import { exchange, parseAnswer, sendRaw } from './raw-http.ts'

// Depth and size are looked at here, not the number of values.
const app = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_MAX_VALUES: '1000000' })
afterAll(() => app[Symbol.asyncDispose]())

const model = 'test/instant/text-to-image'
const good = { model, input: { prompt: 'x' } }

/** Asks for a quote with a body that is sent as it stands. */
function ask(body: string, headers: Record<string, string> = { 'content-type': 'application/json' }) {
  return sendRaw(app.url, {
    method: 'POST',
    path: '/v1/quotes',
    headers: { authorization: `Bearer ${app.account.key}`, ...headers },
    body,
  })
}

test('a body that is not UTF-8 is refused, not mended', async () => {
  const body = Buffer.concat([
    Buffer.from(`{"model":"${model}","input":{"prompt":"`),
    Buffer.from([0xff]),
    Buffer.from('"}}'),
  ])
  const headers = { authorization: `Bearer ${app.account.key}`, 'content-type': 'application/json' }
  const response = await fetch(`${app.url}/v1/quotes`, { method: 'POST', headers, body })
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ code: 'invalid_request', detail: 'The body is not valid UTF-8.' })
})

test('an unknown field is refused by name: a misspelt field must not cost credits', async () => {
  const answer = await app.send('/v1/quotes', { body: { ...good, inptu: {}, 'a/b~c': 1 } })
  expectProblem(answer, app.url, 'invalid_request')
  expect(pointersOf(answer).toSorted()).toEqual(['/a~1b~0c', '/inptu'])
})

test.each<[path: string, body: object, pointers: string[]]>([
  ['/v1/quotes', {}, ['/input', '/model']],
  ['/v1/generate', {}, ['/input', '/model', '/quote_id']],
  ['/v1/generate', good, ['/quote_id']],
  ['/v1/run', {}, ['/input', '/max_credits', '/model']],
  ['/v1/run', good, ['/max_credits']],
  ['/v1/run', { ...good, max_credits: 5, quote_id: 'quote_x' }, ['/quote_id']],
  ['/v1/generate', { ...good, quote_id: 'quote_x', max_credits: 5 }, ['/max_credits']],
  ['/v1/quotes', { model: '', input: {} }, ['/model']],
  ['/v1/quotes', { model: 1, input: [] }, ['/input', '/model']],
  ['/v1/quotes', { model: null, input: null }, ['/input', '/model']],
  ['/v1/quotes', { model, input: 'text' }, ['/input']],
  ['/v1/generate', { ...good, quote_id: '' }, ['/quote_id']],
  ['/v1/generate', { ...good, quote_id: 7 }, ['/quote_id']],
  ...['5', 1.5, -1, 2 ** 53, null, true].map((max_credits): [string, object, string[]] => [
    '/v1/run',
    { ...good, max_credits },
    ['/max_credits'],
  ]),
])('%s lists every field that is missing or wrong in %j', async (path, body, pointers) => {
  const answer = await app.send(path, { body, headers: { 'idempotency-key': 'k' } })
  expectProblem(answer, app.url, 'invalid_request')
  expect([...new Set(pointersOf(answer))].toSorted()).toEqual(pointers)
})

describe('a body other than a JSON object is refused', () => {
  test.each(['', ' ', '{', '[]', '"text"', 'null', '1', '{"model":}', '{} {}', "{'model':1}", '\u0000', 'model=x'])(
    '%j',
    async (body) => {
      expectProblem(await ask(body), app.url, 'invalid_request')
    },
  )

  test('a request without any body', async () => {
    expectProblem(await app.send('/v1/quotes', { method: 'POST' }), app.url, 'invalid_request')
  })
})

test.each([
  ['{"model":"x",}', /^The body is not JSON: .* position 13/],
  ['{"model":"x"', /^The body is not JSON: .* position 12/],
  ['{"model":}', /^The body is not JSON: Unexpected token '}'/],
])('%s is no JSON, and the answer says where', async (body, words) => {
  const answer = await ask(body)
  expectProblem(answer, app.url, 'invalid_request')
  expect(answer.body.detail).toMatch(words)
})

test('a body that begins with a byte order mark is read', async () => {
  expect((await ask(`\ufeff${JSON.stringify(good)}`)).status).toBe(200)
})

describe('names that JavaScript gives a meaning are refused, and harm nothing', () => {
  test.each([
    [`{"model":"${model}","input":{"prompt":"x","__proto__":{"width":64}}}`, '/input', '__proto__'],
    [`{"model":"${model}","__proto__":{"input":{"prompt":"x"}}}`, '', '__proto__'],
    [`{"model":"${model}","input":{"prompt":"x","constructor":{"prototype":{}}}}`, '/input', 'constructor.prototype'],
    [`{"model":"${model}","input":{"prompt":"x","nes/ted":[{"__proto__":1}]}}`, '/input/nes~1ted/0', '__proto__'],
  ])('%s', async (body, pointer, name) => {
    const answer = await ask(body)
    expectProblem(answer, app.url, 'invalid_request')
    const detail = `has a field name that is not allowed: ${name}`
    expect(answer.body.errors).toEqual([{ pointer, detail }])
    expect(answer.body.detail).toBe(`${pointer || 'The body'} ${detail}.`)
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  test('toString and hasOwnProperty are fields like any other: known to no schema', async () => {
    const answer = await ask(`{"model":"${model}","input":{"prompt":"x","toString":1,"hasOwnProperty":2}}`)
    expectProblem(answer, app.url, 'invalid_input')
    expect(pointersOf(answer).toSorted()).toEqual(['/input/hasOwnProperty', '/input/toString'])
  })
})

describe('the content type', () => {
  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'Application/JSON',
    'application/json; foo=bar',
  ])('%s is JSON', async (type) => {
    expect((await ask(JSON.stringify(good), { 'content-type': type })).status).toBe(200)
  })

  test.each([
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/octet-stream',
    'nonsense',
    '*/*',
  ])('%s is not', async (type) => {
    expectProblem(await ask(JSON.stringify(good), { 'content-type': type }), app.url, 'unsupported_media_type')
  })

  test('a body must say what it is', async () => {
    expectProblem(await ask(JSON.stringify(good), {}), app.url, 'unsupported_media_type')
  })
})

describe('the input has a canonical form, or is refused', () => {
  const nest = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
  const withNested = (nested: string) => `{"model":"${model}","input":{"prompt":"x","nested":${nested}}}`

  test('50 levels are taken, the input itself being the first', async () => {
    expect((await ask(withNested(nest(49)))).status).toBe(200)
  })

  test.each([50, 1000, 100_000])('%i levels below the input are too deep', async (levels) => {
    const answer = await ask(withNested(nest(levels)))
    expectProblem(answer, app.url, 'invalid_request')
    expect(answer.body.detail).toMatch(/50 levels/)
  })

  test('100,000 levels of lists are too deep', async () => {
    const list = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    expectProblem(await ask(withNested(list)), app.url, 'invalid_request')
  })

  test.each([
    String.raw`{"prompt":"\ud800"}`,
    String.raw`{"prompt":"a\udc00b"}`,
    String.raw`{"prompt":"x","\ud800":1}`,
  ])('a lone surrogate is refused: %s', async (input) => {
    const answer = await ask(`{"model":"${model}","input":${input}}`)
    expectProblem(answer, app.url, 'invalid_request')
    expect(answer.body.detail).toContain('surrogate')
  })

  test('a pair of surrogates is a character', async () => {
    expect((await ask(`{"model":"${model}","input":{"prompt":"${String.raw`\ud83e\udd8a`}"}}`)).status).toBe(200)
  })

  test('a number that no double holds is refused', async () => {
    const answer = await ask(withNested('{"a":1e999}'))
    expectProblem(answer, app.url, 'invalid_request')
    expect(pointersOf(answer)).toEqual(['/input/nested/a'])
  })
})

describe('the size', () => {
  const ofBytes = (bytes: number): string => {
    const head = `{"model":"${model}","input":{"prompt":"x","nested":{"a":"`
    return `${head}${'y'.repeat(bytes - head.length - 4)}"}}}`
  }

  test('a body of 1 MiB is taken by default, one byte more is too large', async () => {
    expect((await ask(ofBytes(1_048_576))).status).toBe(200)
    const answer = await ask(ofBytes(1_048_577))
    expectProblem(answer, app.url, 'payload_too_large')
  })

  test('a body that is small as JSON is taken however large it is in other forms', async () => {
    expect(
      (await ask(`{"model":"${model}","input":{"prompt":"x","nested":{"a":[${'0,'.repeat(500_000)}0]}}}`)).status,
    ).toBe(200)
  })

  test('a caller without a key that sends too much is refused for its key', async () => {
    const answer = await sendRaw(app.url, {
      method: 'POST',
      path: '/v1/quotes',
      headers: { 'content-type': 'application/json' },
      body: ofBytes(1_048_577),
    })
    expectProblem(answer, app.url, 'authentication_required')
  })

  test('the operator sets the size', async () => {
    await using small = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_MAX_BODY_BYTES: '1024' })
    const body = { model, input: { prompt: 'x'.repeat(1000) } }
    const answer = await small.send('/v1/quotes', { body })
    expectProblem(answer, small.url, 'payload_too_large')
    expect(answer.body.detail).toContain('1024')
  })
})

describe('a name that is given twice is refused, at any depth', () => {
  test.each([
    ['{"model":"a","model":"b","input":{}}', ['/model']],
    [`{"model":"${model}","input":{"width":512,"width":2048,"prompt":"x"}}`, ['/input/width']],
    [`{"model":"${model}","input":{"width":512,"\\u0077idth":512}}`, ['/input/width']],
    ['{"model":"a","input":{"l":[0,{"a/b":[],"a\\/b":{}}],"l":1}}', ['/input/l/1/a~1b', '/input/l']],
    ['{"input":{"__proto__":1,"__proto__":2},"model":"a"}', ['/input']],
  ])('%s', async (body, pointers) => {
    const answer = await ask(body)
    expectProblem(answer, app.url, 'invalid_request')
    expect(pointersOf(answer)).toEqual(pointers)
  })

  test('over MCP, too', async () => {
    const message =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"quote","arguments":{"model":"a","model":"b"}}}'
    const headers = { authorization: `Bearer ${app.account.key}`, 'content-type': 'application/json' }
    const answer = await sendRaw(app.url, { method: 'POST', path: '/mcp', headers, body: message })
    expectProblem(answer, app.url, 'invalid_request')
    expect(pointersOf(answer)).toEqual(['/params/arguments/model'])
  })
})

describe('routes without a body pass over the content type of none', () => {
  test.each(['application/json', 'application/json; charset=utf-8', 'text/plain', 'application/x-www-form-urlencoded'])(
    '%s',
    async (type) => {
      for (const [method, path, code] of [
        ['DELETE', '/v1/jobs/job_none', 'job_not_found'],
        ['DELETE', '/v1/files/file_none', 'file_not_found'],
        ['DELETE', '/v1/webhooks/wh_none', 'webhook_not_found'],
        ['POST', '/v1/jobs/job_none/cancel', 'job_not_found'],
      ] as const)
        for (const length of [{}, { 'content-length': '0' }] as const) {
          const headers = { authorization: `Bearer ${app.account.key}`, 'content-type': type, ...length }
          expectProblem(await sendRaw(app.url, { method, path, headers }), app.url, code)
        }
    },
  )

  test('also when nothing comes in chunks', async () => {
    const bytes = `DELETE /v1/jobs/job_none HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${app.account.key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n`
    expectProblem(parseAnswer(await exchange(app.url, Buffer.from(bytes))), app.url, 'job_not_found')
  })
})

describe('a compressed body is refused', () => {
  test.each(['gzip', 'x-gzip', 'deflate', 'br', 'zstd', 'GZIP', 'identity, gzip', 'gzip, identity'])(
    '%s',
    async (encoding) => {
      for (const [path, type] of [
        ['/v1/quotes', 'application/json'],
        ['/v1/files', 'image/png'],
        ['/mcp', 'application/json'],
      ] as const) {
        const answer = await sendRaw(app.url, {
          method: 'POST',
          path,
          headers: {
            authorization: `Bearer ${app.account.key}`,
            'content-type': type,
            'content-encoding': encoding,
          },
          body: gzipSync(JSON.stringify(good)),
        })
        expectProblem(answer, app.url, 'unsupported_media_type')
        expect(answer.body.detail).toContain('Content-Encoding')
        expect(answer.headers.get('accept-encoding')).toBe('identity')
      }
    },
  )

  test.each(['identity', 'Identity', '', ' identity , identity'])('%j is not compressed', async (encoding) => {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
    expect((await ask(JSON.stringify(good), headers)).status).toBe(200)
  })
})
