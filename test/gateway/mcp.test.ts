// POST /mcp: the tools, used by the official SDK's client against a real server.
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../test-app.ts'

const app = await startTestApp()
afterAll(() => app[Symbol.asyncDispose]())
const model = 'test/instant/text-to-image'
const input = { prompt: 'x' }

/** A connected client, and the results of its calls. */
async function connect(key = app.account.key, { url } = app, options: ClientOptions = {}) {
  const client = new Client({ name: 'test', version: '1' }, options)
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
  return {
    client,
    async call(name: string, given: object = {}, how: Parameters<Client['callTool']>[1] = {}): Promise<any> {
      return client.callTool({ name, arguments: { ...given } }, how)
    },
    /** What a tool answers with. */
    async ask(name: string, given: object = {}): Promise<any> {
      return (await this.call(name, given)).structuredContent
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** A bare message. */
function post(body: unknown, headers: Record<string, string> = {}, server: TestApp = app) {
  const accept = 'application/json, text/event-stream'
  return server.send('/mcp', { body, headers: { accept, ...headers } })
}

const rpc = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params })
/** As a client of the revision 2026-07-28 writes it. */
const modern = (method: string, params: object = {}) => {
  const said = { protocolVersion: '2026-07-28', clientInfo: { name: 'test', version: '1' }, clientCapabilities: {} }
  const envelope = Object.entries(said).map(([name, value]) => [`io.modelcontextprotocol/${name}`, value])
  return rpc(method, { ...params, _meta: Object.fromEntries(envelope) })
}
const callTool = (name: string, given: object = {}) => rpc('tools/call', { name, arguments: given })

async function readAccount(key: string) {
  const { body: jobs } = await app.send('/v1/jobs', { key })
  const { body: wallet } = await app.send('/v1/wallet', { key })
  return { jobs: jobs.total, ...wallet }
}

test.each(['legacy', { pin: '2026-07-28' }] as const)('an agent goes from words to a file: %o', async (mode) => {
  await using agent = await connect(app.account.key, app, { versionNegotiation: { mode } })
  expect(agent.client.getServerVersion()).toMatchObject({ name: 'mediagen' })
  const { tools } = await agent.client.listTools()
  expect(tools.map(({ name }) => name)).toEqual([
    'find_models',
    'describe_model',
    'quote',
    'upload_file',
    'start_generation',
    'wait_for_job',
    'get_job',
    'list_jobs',
    'cancel_job',
    'get_wallet',
  ])
  const { models } = await agent.ask('find_models', { search: 'instant', category: 'text-to-image' })
  expect(models).toMatchObject([{ model, price: expect.stringContaining('credits') }])
  const { input_schema } = await agent.ask('describe_model', { model })
  expect(input_schema).toMatchObject({ required: ['prompt'], properties: { prompt: { type: 'string' } } })
  expect(await agent.ask('quote', { model, input })).toMatchObject({ credits: 3 })
  const order = { model, input, max_credits: 3, idempotency_key: `file-${JSON.stringify(mode)}` }
  const { job_id } = await agent.ask('start_generation', order)

  const ended = await agent.call('wait_for_job', { job_id, preview: true })
  expect(ended.structuredContent).toMatchObject({ status: 'succeeded', credits: { charged: 3 } })
  const [text, link, picture] = ended.content
  expect(JSON.parse(text.text)).toEqual(ended.structuredContent)
  expect(link).toMatchObject({ type: 'resource_link', mimeType: 'image/png' })
  expect(link.name).toMatch(/^instant-\w{8}\.png$/)
  expect((await (await fetch(link.uri)).arrayBuffer()).byteLength).toBe(link.size)
  if (!process.env['MEDIAGEN_TEST_GATEWAY']) {
    expect(picture).toMatchObject({ type: 'image', mimeType: 'image/webp' })
    expect(Buffer.from(picture.data, 'base64').subarray(8, 12).toString()).toBe('WEBP')
  }
  expect(await agent.ask('get_job', { job_id })).toMatchObject({ status: 'succeeded', input })
  expect((await agent.ask('list_jobs', { search: 'x', limit: 1 })).jobs).toMatchObject([{ job_id, prompt: 'x' }])
})

describe('money', () => {
  test('a start above its limit is refused before anything is held', async () => {
    const { key } = await app.createAccount(100)
    await using agent = await connect(key)
    const refused = await agent.call('start_generation', { model, input, max_credits: 2, idempotency_key: 'a' })
    expect(refused.isError).toBe(true)
    expect(refused.structuredContent.error).toMatchObject({ code: 'too_expensive', credits: 3 })
    expect(await readAccount(key)).toEqual({ jobs: 0, available: 100, held: 0 })
  })

  test('a call that is repeated, at once or later, pays once', async () => {
    const { key } = await app.createAccount(100)
    await using agent = await connect(key)
    const order = { model, input, max_credits: 5, idempotency_key: 'once' }
    const answers = await Promise.all(Array.from({ length: 8 }, () => agent.ask('start_generation', order)))
    const ids = new Set(answers.map((answer) => answer.job_id ?? answer.error.code))
    expect(ids.size).toBe(1)
    const [job_id] = ids
    await agent.ask('wait_for_job', { job_id })
    expect(await agent.ask('start_generation', { ...order, max_credits: 0 })).toMatchObject({ job_id })
    expect(await readAccount(key)).toEqual({ jobs: 1, available: 97, held: 0 })
    const { error } = await agent.ask('start_generation', { ...order, input: { prompt: 'y' } })
    expect(error.code).toBe('idempotency_key_reused')
  })
})

describe('waiting', () => {
  test('MEDIAGEN_WAIT_SECONDS bounds it: then the answer is the job as it is, and no watch stays open', async () => {
    await using own = await startTestApp({ MEDIAGEN_WAIT_SECONDS: '1', MEDIAGEN_MAX_WATCHES_PER_ACCOUNT: '1' })
    await using agent = await connect(own.account.key, own)
    const gate = own.gate()
    const order = { model: 'test/gate/text-to-image', input: gate.input, max_credits: 10, idempotency_key: 'a' }
    const { job_id } = await agent.ask('start_generation', order)
    expect((await agent.ask('wait_for_job', { job_id, seconds: 2 })).error).toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: '/seconds' }],
    })
    await gate.begun()
    expect(await agent.ask('wait_for_job', { job_id })).toMatchObject({ job_id, status: 'running' })
    await expect.poll(() => watch(own, job_id)).toBe(200)
    gate.open()
    await expect.poll(() => agent.ask('wait_for_job', { job_id })).toMatchObject({ status: 'succeeded' })
  })

  test('a caller that hangs up leaves no watch behind', async () => {
    await using own = await startTestApp({ MEDIAGEN_MAX_WATCHES_PER_ACCOUNT: '1' })
    await using agent = await connect(own.account.key, own, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    const gate = own.gate()
    const order = { model: 'test/gate/text-to-image', input: gate.input, max_credits: 10, idempotency_key: 'a' }
    const { job_id } = await agent.ask('start_generation', order)
    await gate.begun()
    const gone = new AbortController()
    const told = Promise.withResolvers<unknown>()
    const call = agent.call('wait_for_job', { job_id, seconds: 50 }, { signal: gone.signal, onprogress: told.resolve })
    expect(await told.promise).toMatchObject({ total: 1 })
    gone.abort()
    await expect(call).rejects.toThrow()
    await expect.poll(() => watch(own, job_id)).toBe(200)

    // Older clients may only cut the line: what they send of a call is no part of it.
    const cut = new AbortController()
    const answer = await fetch(`${own.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${own.account.key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(callTool('wait_for_job', { job_id, seconds: 50 })),
      signal: cut.signal,
    })
    // The head comes before the first piece of the body.
    expect(answer.headers.get('content-type')).toMatch('text/event-stream')
    const firstPiece = answer.body?.getReader().read()
    await expect.poll(() => watch(own, job_id)).toBe(429)
    expect(await Promise.race([firstPiece, Promise.resolve('none yet')])).toBe('none yet')
    firstPiece?.catch(() => {})
    cut.abort()
    await expect.poll(() => watch(own, job_id)).toBe(200)
    gate.open()
  })

  test('a job is canceled, and its credits come back', async () => {
    const { key } = await app.createAccount(10)
    await using agent = await connect(key)
    const gate = app.gate()
    const order = { model: 'test/gate/text-to-image', input: gate.input, max_credits: 10, idempotency_key: 'a' }
    const { job_id } = await agent.ask('start_generation', order)
    expect(await agent.ask('get_wallet')).toEqual({ available: 0, held: 10 })
    await agent.ask('cancel_job', { job_id })
    expect(await agent.ask('wait_for_job', { job_id })).toMatchObject({ status: 'canceled', credits: { charged: 0 } })
    expect(await agent.ask('get_wallet')).toEqual({ available: 10, held: 0 })
  })

  test('a server that stops answers with the job as it is', async () => {
    const own = await startTestApp()
    const agent = await connect(own.account.key, own)
    const gate = own.gate()
    const order = { model: 'test/gate/text-to-image', input: gate.input, max_credits: 10, idempotency_key: 'a' }
    const { job_id } = await agent.ask('start_generation', order)
    const told = Promise.withResolvers<unknown>()
    const waiting = agent.call('wait_for_job', { job_id, seconds: 50 }, { onprogress: told.resolve })
    await told.promise
    const stopped = own[Symbol.asyncDispose]()
    await expect(waiting).resolves.toMatchObject({ structuredContent: { job_id } })
    await stopped
  })
})

/** Status of an attempt to watch a job. */
async function watch(server: TestApp, jobId: string): Promise<number> {
  const headers = { authorization: `Bearer ${server.account.key}` }
  const { status, body } = await fetch(`${server.url}/v1/jobs/${jobId}/events`, { headers })
  await body?.cancel()
  return status
}

test('a start over MCP has the labels of its arguments, and of the headers that become labels', async () => {
  await using labelling = await startTestApp({
    MEDIAGEN_LABEL_HEADERS: 'X-User=user',
    MEDIAGEN_TOP_UP_URL: 'https://shop.example/{account}',
  })
  const client = new Client({ name: 'test', version: '1' })
  const requestInit = { headers: { authorization: `Bearer ${labelling.account.key}`, 'x-user': 'a@b.example' } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${labelling.url}/mcp`), { requestInit }))
  const order = { model, input, max_credits: 5, idempotency_key: 'a', labels: { team: 'Zürich' } }
  const started: any = await client.callTool({ name: 'start_generation', arguments: order })
  const { job_id } = started.structuredContent
  const job: any = await client.callTool({ name: 'get_job', arguments: { job_id } })
  expect(job.structuredContent.labels).toEqual({ team: 'Zürich', user: 'a@b.example' })
  const wrong = { ...order, idempotency_key: 'b', labels: { 'a/b': 'x' } }
  const refused: any = await client.callTool({ name: 'start_generation', arguments: wrong })
  expect(refused.structuredContent.error).toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('a/b'),
  })
  await client.close()
  // A client without the header is answered, too.
  await using without = await connect(labelling.account.key, labelling)
  const plain = await without.call('start_generation', { ...order, idempotency_key: 'c' })
  const kept = await without.call('get_job', { job_id: plain.structuredContent.job_id })
  expect(kept.structuredContent.labels).toEqual({ team: 'Zürich' })
  // Where to buy credits is in a refusal, too.
  const { accountId, key } = await labelling.createAccount(1)
  await using poor = await connect(key, labelling)
  expect((await poor.ask('start_generation', order)).error).toMatchObject({
    code: 'insufficient_credits',
    available: 1,
    top_up_url: `https://shop.example/${accountId}`,
  })
})

describe('errors', () => {
  test('have our codes and name each wrong field; none has a stack', async () => {
    const { accountId } = await app.createAccount(1)
    const poor = await app.createAccount(1)
    await using agent = await connect(poor.key)
    await using reader = await connect(await app.createKey(accountId, ['models:read']))
    const order = { model, input, max_credits: 9, idempotency_key: 'a' }
    const answers = [
      await agent.call('quote', { model, input: { prompt: '', width: 1 } }),
      await agent.call('quote', { model: 'test/instant/text-to-imag', input }),
      await agent.call('start_generation', order),
      await agent.call('start_generation', { ...order, idempotency_key: 'a b' }),
      await agent.call('start_generation', { model, input, max_credits: 9 }),
      await agent.call('get_job', { job_id: '../wallet' }),
      await agent.call('get_job', { job: 1 }),
      await agent.call('find_models', { category: 'nonsense' }),
      await agent.call('find_models', { search: 'word '.repeat(41) }),
      await agent.call('find_models', { search: 'w '.repeat(200_000) }),
      await agent.call('list_jobs', { search: 'x'.repeat(201) }),
      await reader.call('start_generation', order),
      await reader.call('get_wallet'),
    ]
    expect(answers.map(({ isError, structuredContent: { error } }) => [isError, error.code])).toEqual(
      [
        'invalid_input',
        'model_not_found',
        'insufficient_credits',
        'invalid_request',
        'invalid_request',
        'job_not_found',
        'invalid_request',
        'invalid_request',
        'invalid_request',
        'invalid_request',
        'invalid_request',
        'missing_permission',
        'missing_permission',
      ].map((code) => [true, code]),
    )
    expect(answers[0].structuredContent.error.errors).toMatchObject([
      { pointer: '/input/prompt' },
      { pointer: '/input/width' },
    ])
    expect(answers[2].structuredContent.error).toMatchObject({ required: 3, available: 1 })
    expect(answers[4].structuredContent.error.errors).toMatchObject([{ pointer: '/idempotency_key' }])
    expect(JSON.stringify(answers)).not.toMatch(/\.ts:|node_modules|\\n {4}at /)
  })

  test('a failed job says why', async () => {
    await using agent = await connect()
    const order = { model: 'test/failing/text-to-image', input, max_credits: 9, idempotency_key: 'fails' }
    const { job_id } = await agent.ask('start_generation', order)
    expect(await agent.ask('wait_for_job', { job_id })).toMatchObject({
      status: 'failed',
      error: { code: 'program_failed' },
      credits: { charged: 0 },
    })
  })
})

describe('who may call', () => {
  test('without a working key nothing is answered', async () => {
    const list = rpc('tools/list')
    expect(await app.send('/mcp', { key: null, body: list })).toMatchObject({
      status: 401,
      body: { code: 'authentication_required' },
    })
    const wrong = await app.send('/mcp', { key: 'mgk_wrong', body: list })
    expect([wrong.status, wrong.body.code]).toEqual([401, 'invalid_api_key'])
    expect(wrong.headers.get('www-authenticate')).toMatch(/^Bearer/)
    await expect(connect('mgk_wrong')).rejects.toThrow(/401/)
  })

  test('scripts of other websites are refused, unless MEDIAGEN_CORS_ORIGINS has them', async () => {
    const port = new URL(app.url).port
    const foreign = await post(rpc('tools/list'), { origin: `http://evil.example:${port}` })
    expect([foreign.status, foreign.body.error.message]).toEqual([
      403,
      expect.stringContaining('MEDIAGEN_CORS_ORIGINS'),
    ])
    expect((await post(rpc('tools/list'), { origin: 'null' })).status).toBe(403)
    expect((await post(rpc('tools/list'), { origin: app.url })).status).toBe(200)
    await using own = await startTestApp({ MEDIAGEN_CORS_ORIGINS: 'https://app.example' })
    const known = await post(rpc('tools/list'), { origin: 'https://app.example' }, own)
    expect([known.status, known.headers.get('access-control-allow-origin')]).toEqual([200, 'https://app.example'])
  })

  test('MEDIAGEN_RATE_LIMIT: each message counts, also one that calls no service', async () => {
    await using own = await startTestApp({ MEDIAGEN_RATE_LIMIT: '3' })
    const answers = []
    for (let sent = 0; sent < 8; sent += 1) answers.push(await post(rpc('ping'), {}, own))
    expect(answers.map(({ status }) => status)).toContain(429)
    expect(answers.find(({ status }) => status === 429)?.body.code).toBe('rate_limited')
  })
})

describe('hostile messages', () => {
  test.each([
    ['a batch', [callTool('get_wallet'), callTool('get_wallet')], 400],
    ['no JSON', '{', 400],
    ['no message', { hello: 1 }, 400],
    ['a text', '"x"', 400],
    ['a body over MEDIAGEN_MAX_BODY_BYTES', rpc('ping', { pad: 'x'.repeat(1_048_576) }), 413],
    ['more values than MEDIAGEN_MAX_VALUES', rpc('ping', { pad: Array.from({ length: 20_001 }, () => 0) }), 400],
    ['another content type', rpc('ping'), 415],
  ])('%s is refused', async (what, body, status) => {
    const headers = what === 'another content type' ? { 'content-type': 'text/plain' } : {}
    expect((await post(body, headers)).status).toBe(status)
  })

  test.each([
    ['an unknown method', rpc('resources/list')],
    ['an unknown tool', callTool('rm')],
    ['arguments that are a list', rpc('tools/call', { name: 'quote', arguments: [] })],
  ])('%s is an error without a stack', async (_what, body) => {
    const { body: text } = await post(body)
    const [, data] = /^data: (.*)$/m.exec(String(text)) ?? []
    const answer = typeof text === 'string' ? JSON.parse(data ?? '{}') : text
    expect(answer.error.message).toEqual(expect.any(String))
    expect(JSON.stringify(answer)).not.toMatch(/node_modules|\.ts:|\.mjs:/)
  })

  test('a subscription is refused instead of kept open', async () => {
    const listen = modern('subscriptions/listen', { notifications: { toolsListChanged: true } })
    const { body } = await post(listen, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' })
    expect(body.error.message).toMatch(/limit/)
  })

  test('names that JavaScript treats specially are values like any other', async () => {
    await using agent = await connect()
    const { error } = await agent.ask('quote', { model, input: { ...input, constructor: 1, toString: 2 } })
    expect(error.errors).toMatchObject([{ pointer: '/input/constructor' }, { pointer: '/input/toString' }])
    const { error: other } = await agent.ask('quote', { model: '__proto__/../../wallet', input })
    expect(other.code).toBe('model_not_found')
    expect((await agent.ask('get_job', { job_id: `job_${'x'.repeat(60_000)}` })).error.code).toBe('job_not_found')
  })

  test('a number that was rounded on its way is refused by its place', async () => {
    await using agent = await connect()
    const { error } = await agent.ask('quote', { model, input: { ...input, nested: { seed: 2 ** 53 } } })
    expect(error).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/input/nested/seed' }] })
  })

  test('there is no session to open or to end', async () => {
    for (const method of ['GET', 'DELETE']) {
      const { status, headers } = await app.send('/mcp', { method })
      expect([status, headers.get('allow')]).toEqual([405, 'POST'])
    }
    expect((await post(rpc('ping'))).headers.get('mcp-session-id')).toBeNull()
  })
})

test('a hundred calls at once are all answered', async () => {
  await using agent = await connect()
  const answers = await Promise.all(Array.from({ length: 100 }, () => agent.ask('get_wallet')))
  expect(new Set(answers.map(({ available }) => typeof available))).toEqual(new Set(['number']))
})
