// POST /mcp, as clients use it that keep less closely to the protocol than the SDK does.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'

const app = await startTestApp()
afterAll(() => app[Symbol.asyncDispose]())
const model = 'test/nothing/text-to-image'
const input = { prompt: 'x' }

/** Sends a bare message; `undefined` sends no Accept. */
async function post(method: string, params: object = {}, accept: string | undefined = 'application/json') {
  const answer = await fetch(`${app.url}/mcp`, {
    method: 'POST',
    // Without one, fetch accepts everything.
    headers: {
      authorization: `Bearer ${app.account.key}`,
      'content-type': 'application/json',
      ...(accept !== undefined && { accept }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
  })
  return { status: answer.status, type: answer.headers.get('content-type') ?? '', text: await answer.text() }
}

async function call(name: string, given: object): Promise<any> {
  return JSON.parse((await post('tools/call', { name, arguments: given })).text).result
}

describe('the form of an answer', () => {
  test.each([
    ['application/json', 'application/json'],
    ['*/*', 'application/json'],
    [undefined, 'application/json'],
    ['application/*;q=0.9', 'application/json'],
    ['application/json, text/event-stream;q=0', 'application/json'],
    ['text/html', 'application/json'],
    ['image/png, text/html;q=0.9', 'application/json'],
    ['application/json;q=0, */*;q=0', 'application/json'],
    ['nonsense', 'application/json'],
    ['text/event-stream', 'text/event-stream'],
    ['Text/Event-Stream; q=1', 'text/event-stream'],
    ['application/json, text/event-stream', 'text/event-stream'],
  ])('Accept: %s is answered with %s', async (accept, type) => {
    for (const [method, params] of [
      ['tools/list', {}],
      ['tools/call', { name: 'get_wallet', arguments: {} }],
    ] as const) {
      const answer = await post(method, params, accept)
      expect([answer.status, answer.type.split(';')[0]]).toEqual([200, type])
      const [, data = answer.text] = /^data: (.*)$/m.exec(answer.text) ?? []
      expect(JSON.parse(data)).toMatchObject({ jsonrpc: '2.0', id: 7, result: {} })
    }
  })

  test('of a wait in JSON, the answer is the job and not its progress', async () => {
    const { structuredContent } = await call('start_generation', {
      model,
      input,
      max_credits: 9,
      idempotency_key: 'waits',
    })
    const { job_id } = structuredContent
    const params = { name: 'wait_for_job', arguments: { job_id }, _meta: { progressToken: 1 } }
    const { result } = JSON.parse((await post('tools/call', params)).text)
    expect(result.structuredContent).toMatchObject({ job_id, status: 'succeeded' })
  })
})

describe('P278 an argument of another name is refused with the one that was meant', () => {
  test.each([
    ['find_models', { query: 'cat' }, 'query', 'did you mean "search"?'],
    ['find_models', { Q: 'cat' }, 'Q', 'did you mean "search"?'],
    ['find_models', { serach: 'cat' }, 'serach', 'did you mean "search"?'],
    ['quote', { model, prompt: 'x' }, 'prompt', 'did you mean "input.prompt"?'],
    ['quote', { model_id: model, input }, 'model_id', 'did you mean "model"?'],
    [
      'start_generation',
      { model, input, max_cost: 1, idempotency_key: 'a' },
      'max_cost',
      'did you mean "max_credits"?',
    ],
    ['wait_for_job', { job_id: 'job_1', timeout: 5 }, 'timeout', 'did you mean "seconds"?'],
    ['get_job', { id: 'job_1' }, 'id', 'did you mean "job_id"?'],
    ['get_job', { job_id: 'job_1', constructor: 1 }, 'constructor', '. The arguments are job_id, preview.'],
    ['get_wallet', { account: 1 }, 'account', '. The tool takes no arguments.'],
  ])('%s %j', async (tool, given, name, words) => {
    const { isError, structuredContent } = await call(tool, given)
    expect(isError).toBe(true)
    const { detail } = structuredContent.error.errors.find(({ pointer }: any) => pointer === `/${name}`)
    expect(detail).toBe(`There is no argument "${name}"${words.startsWith('.') ? '' : ': '}${words}`)
  })

  test('and one that is missing is named in plain words', async () => {
    const { structuredContent } = await call('quote', { input })
    expect(structuredContent.error.errors).toEqual([{ pointer: '/model', detail: 'is required' }])
  })

  test('and many of them are refused with the first ones', async () => {
    const given = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`search${index}`, 1]))
    const { structuredContent } = await call('find_models', given)
    expect(structuredContent.error.errors).toHaveLength(20)
  })
})

describe('P279 upload_file', () => {
  const picture = readFileSync(join(import.meta.dirname, '../models/picture.png'))

  test.each(['', 'data:image/png;base64,'])(
    'stores a file of the account, whose id is an input: %s',
    async (before) => {
      const base64 = picture.toString('base64')
      const { structuredContent: file } = await call('upload_file', { content_base64: before + base64 })
      expect(file).toMatchObject({ content_type: 'image/png', bytes: picture.length, url: expect.any(String) })
      const stored = await app.send(`/v1/files/${file.file_id}`)
      expect(stored.body).toMatchObject({ bytes: picture.length, content_type: 'image/png' })
      expect(Buffer.from(await (await fetch(file.url)).arrayBuffer()).equals(picture)).toBe(true)
    },
  )

  test('stores nothing that is no media, no base64 or too large, or that the key may not store', async () => {
    const total = async () => (await app.send('/v1/files')).body.total
    const before = await total()
    for (const [content_base64, error] of [
      ['eA==', { code: 'invalid_media' }],
      ['', { code: 'invalid_request' }],
      ['no base64!', { code: 'invalid_request', errors: [{ pointer: '/content_base64' }] }],
      [undefined, { code: 'invalid_request', errors: [{ pointer: '/content_base64' }] }],
    ] as const)
      expect(await call('upload_file', { content_base64 })).toMatchObject({
        isError: true,
        structuredContent: { error },
      })
    const large = await post('tools/call', {
      name: 'upload_file',
      arguments: { content_base64: 'x'.repeat(1_048_576) },
    })
    expect(large.status).toBe(413)
    const key = await app.createKey(app.account.accountId, ['jobs:read'])
    const params = { name: 'upload_file', arguments: { content_base64: picture.toString('base64') } }
    const refused = await app.send('/mcp', { key, body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params } })
    expect(refused.body.result.structuredContent.error.code).toBe('missing_permission')
    expect(await total()).toBe(before)
  })
})

test('a start over a limit of its key says which one', async () => {
  const { body } = await app.send('/v1/keys', {
    body: { name: 'small', permissions: ['generate', 'models:read'], limits: { per_start: 0 } },
  })
  const given = { model: 'test/instant/text-to-image', input, max_credits: 9, idempotency_key: 'over' }
  const params = { name: 'start_generation', arguments: given }
  const answer = await app.send('/mcp', {
    key: body.key,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
  })
  expect(answer.body.result.structuredContent.error).toMatchObject({
    code: 'budget_exceeded',
    required: 3,
    budget: { of: 'key', limit: 'per_start', credits: 0 },
  })
})

test('P280 wait_for_job takes at most 50 seconds, less than clients wait for a call', async () => {
  const { tools } = JSON.parse((await post('tools/list')).text).result
  const { properties } = tools.find(({ name }: { name: string }) => name === 'wait_for_job').inputSchema
  expect(properties.seconds).toMatchObject({ minimum: 1, maximum: 50, default: 45 })
  const refused = await call('wait_for_job', { job_id: 'job_1', seconds: 51 })
  expect(refused.structuredContent.error).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/seconds' }] })
})

test('null for an argument that may be left out is as if it were', async () => {
  const found = await call('find_models', { search: null, category: null, limit: null, offset: null })
  expect(found.structuredContent).toEqual((await call('find_models', {})).structuredContent)
  expect((await call('list_jobs', { status: null, model: null })).isError).toBeUndefined()
  const missing = await call('describe_model', { model: null })
  expect(missing.structuredContent.error).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/model' }] })
})

test('schemas of tools have no bounds that only say what JSON can carry', async () => {
  const { tools } = JSON.parse((await post('tools/list')).text).result
  expect(JSON.stringify(tools)).not.toContain('9007199254740991')
  const { properties } = tools.find(({ name }: { name: string }) => name === 'find_models').inputSchema
  expect(properties.limit).toMatchObject({ type: 'integer', minimum: 1, maximum: 100, default: 20 })
})

describe('arguments that become a part of a path', () => {
  test.each([
    '../../healthz',
    '..',
    '.',
    '',
    'a/../../wallet',
    './x',
    'categories',
    'x?y',
    'a#b',
    '%2e%2e/x',
    '\ud800',
    'a\\..\\b',
  ])('describe_model of %j is model_not_found', async (id) => {
    const { structuredContent } = await call('describe_model', { model: id })
    expect(structuredContent.error.code).toBe('model_not_found')
  })

  test.each(['..', '.', '', '../wallet', '../../healthz', 'x/events', '?', '\udfff'])(
    'job %j is job_not_found',
    async (job_id) => {
      for (const tool of ['get_job', 'wait_for_job', 'cancel_job'])
        expect((await call(tool, { job_id })).structuredContent.error.code, tool).toBe('job_not_found')
    },
  )
})

test('a refusal does not send back what was sent', async () => {
  const long = 'x'.repeat(500_000)
  const answers = await Promise.all([
    call('get_job', { job_id: `../${long}` }),
    call('get_wallet', { [long]: 1 }),
    call('quote', { model: long, input }),
    call('quote', { model, input: { ...input, [long]: 1 } }),
    call('find_models', { category: long }),
    post('tools/call', { name: long, arguments: {} }),
    post(long),
  ])
  for (const answer of answers) expect(JSON.stringify(answer).length).toBeLessThan(10_000)
})
