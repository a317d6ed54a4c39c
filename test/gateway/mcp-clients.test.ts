// POST /mcp, as clients use it that keep less closely to the protocol than the SDK does.
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
