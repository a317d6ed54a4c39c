// The Tasks extension of MCP at POST /mcp, in raw requests that accept only JSON (P276, P277).
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createMcp } from '../../src/mcp/http.ts'
import { startTestApp, type TestApp } from '../test-app.ts'

const app = await startTestApp()
afterAll(() => app[Symbol.asyncDispose]())

const extension = 'io.modelcontextprotocol/tasks'
const declared = { extensions: { [extension]: {} } }
const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)

interface Sent {
  readonly server?: TestApp
  readonly key?: string
  /** What the client declares. */
  readonly capabilities?: object
}

function toMessage(method: string, params: object, capabilities: object) {
  const said = {
    protocolVersion: '2026-07-28',
    clientInfo: { name: 't', version: '1' },
    clientCapabilities: capabilities,
  }
  const envelope = Object.entries(said).map(([name, value]) => [`io.modelcontextprotocol/${name}`, value])
  return { jsonrpc: '2.0', id: 7, method, params: { ...params, _meta: Object.fromEntries(envelope) } }
}

function toHeaders(method: string, name: unknown) {
  return {
    accept: 'application/json',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': `=?base64?${Buffer.from(name).toString('base64')}?=` }),
  }
}

/** Sends a message as a client of the revision 2026-07-28; the answer is `result` or `error`. */
async function ask(method: string, params: Record<string, unknown> = {}, sent: Sent = {}): Promise<any> {
  const { server = app, key = server.account.key, capabilities = declared } = sent
  const { body } = await server.send('/mcp', {
    key,
    headers: toHeaders(method, params['taskId'] ?? params['name']),
    body: toMessage(method, params, capabilities),
  })
  return body
}

const orderOf = (model: string, input: object) => ({
  name: 'start_generation',
  arguments: { model, input, max_credits: 10, idempotency_key: crypto.randomUUID() },
})

/** Starts a job that waits at a gate; its task. */
async function startAtGate(sent: Sent = {}) {
  const gate = (sent.server ?? app).gate()
  const { result } = await ask('tools/call', orderOf('test/gate/text-to-image', gate.input), sent)
  return { gate, task: result }
}

const getTask = async (taskId: string, sent: Sent = {}) => (await ask('tasks/get', { taskId }, sent)).result

test('P276 a start is a task with the id of its job, and tasks/get ends with the result', async () => {
  const { result: server } = await ask('server/discover')
  expect(server.capabilities).toEqual({ tools: {}, ...declared })

  const { gate, task } = await startAtGate()
  const times = { createdAt: isoTime, lastUpdatedAt: isoTime, ttlMs: null, pollIntervalMs: 2000 }
  expect(task).toMatchObject({
    resultType: 'task',
    taskId: expect.stringMatching(/^job_/),
    status: 'working',
    ...times,
  })
  const { taskId } = task
  await gate.begun()
  await expect.poll(() => getTask(taskId)).toMatchObject({ statusMessage: 'running, 50 %' })
  const working = await getTask(taskId)
  expect(working).toMatchObject({ resultType: 'complete', taskId, status: 'working', ...times })
  expect(working).not.toHaveProperty('result')

  gate.open()
  await expect.poll(() => getTask(taskId)).toMatchObject({ status: 'completed' })
  const { result } = await getTask(taskId)
  const plain = await ask('tools/call', { name: 'wait_for_job', arguments: { job_id: taskId } })
  // The official client of the extension refuses a result without its type.
  expect(result).toMatchObject({ resultType: 'complete', isError: false, structuredContent: { status: 'succeeded' } })
  expect(result.structuredContent).toEqual(plain.result.structuredContent)
  const [text, link] = result.content
  expect(JSON.parse(text.text)).toEqual(result.structuredContent)
  expect((await fetch(link.uri)).status).toBe(200)
})

test('P276 a start whose job has ended, and one that is refused, are answered as ever', async () => {
  const order = orderOf('test/instant/text-to-image', { prompt: 'x' })
  const { taskId } = (await ask('tools/call', order)).result
  await expect.poll(() => getTask(taskId)).toMatchObject({ status: 'completed' })
  const { result: again } = await ask('tools/call', order)
  expect(again).toMatchObject({ resultType: 'complete', structuredContent: { job_id: taskId, status: 'succeeded' } })
  const { result } = await ask('tools/call', orderOf('test/instant/text-to-image', {}))
  expect(result).toMatchObject({
    resultType: 'complete',
    isError: true,
    structuredContent: { error: { code: 'invalid_input' } },
  })
})

test('P276 a failed job is a completed task whose result is an error', async () => {
  const { result: task } = await ask('tools/call', orderOf('test/failing/text-to-image', { prompt: 'x' }))
  await expect
    .poll(() => getTask(task.taskId))
    .toMatchObject({
      status: 'completed',
      result: { isError: true, structuredContent: { status: 'failed', error: { code: 'program_failed' } } },
    })
})

test('P276 tasks/cancel cancels the job; of one that has ended it changes nothing', async () => {
  const { key } = await app.createAccount(10)
  const { gate, task } = await startAtGate({ key })
  await gate.begun()
  const { taskId } = task
  const canceled = await ask('tasks/cancel', { taskId }, { key })
  expect(canceled.result.resultType).toBe('complete')
  await expect.poll(() => getTask(taskId, { key })).toMatchObject({ status: 'cancelled' })
  expect((await app.send('/v1/wallet', { key })).body).toMatchObject({ available: 10, held: 0 })

  const before = await getTask(taskId, { key })
  expect(await ask('tasks/cancel', { taskId }, { key })).toMatchObject({ result: { resultType: 'complete' } })
  expect(await getTask(taskId, { key })).toEqual(before)
})

test('P277 another process, and one that is started later, answers for a task', async () => {
  const data = { MEDIAGEN_DATA_DIR: join(app.folder, 'tasks') }
  const first = await startTestApp(data)
  const { key } = first.account
  await using second = await startTestApp({ ...data, MEDIAGEN_ROLES: 'api' })
  const { gate, task } = await startAtGate({ server: first })
  const { taskId } = task
  await gate.begun()
  expect(await getTask(taskId, { server: second, key })).toMatchObject({ taskId, status: 'working' })
  gate.open()
  await expect.poll(() => getTask(taskId, { server: second, key })).toMatchObject({ status: 'completed' })
  await first[Symbol.asyncDispose]()
  await using third = await startTestApp({ ...data, MEDIAGEN_ROLES: 'api' })
  expect(await getTask(taskId, { server: third, key })).toMatchObject({
    status: 'completed',
    result: { structuredContent: { job_id: taskId, status: 'succeeded', credits: { charged: 10 } } },
  })
})

describe('clients that do not declare the extension', () => {
  test('get the job, and no task', async () => {
    const { result } = await ask('tools/call', orderOf('test/instant/text-to-image', { prompt: 'x' }), {
      capabilities: {},
    })
    expect(result).toMatchObject({ resultType: 'complete', structuredContent: { job_id: expect.any(String) } })
    expect(result).not.toHaveProperty('taskId')
  })

  test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])('hear at %s what to declare', async (method) => {
    const { gate, task } = await startAtGate()
    const params = { taskId: task.taskId, inputResponses: {} }
    const { error } = await ask(method, params, { capabilities: { extensions: { other: {} } } })
    expect(error).toMatchObject({ code: -32_021, data: { requiredCapabilities: declared } })
    expect(await getTask(task.taskId)).toMatchObject({ status: 'working' })
    gate.open()
  })

  test('of older revisions hear nothing of it', async () => {
    const headers = { accept: 'application/json' }
    const send = async (method: string, params: object) =>
      (await app.send('/mcp', { headers, body: { jsonrpc: '2.0', id: 1, method, params } })).body
    const clientInfo = { name: 't', version: '1' }
    const opened = await send('initialize', { protocolVersion: '2025-11-25', capabilities: declared, clientInfo })
    expect(opened.result.capabilities).toEqual({ tools: {} })
    expect((await send('tasks/get', { taskId: 'job_1' })).error.code).toBe(-32_601)
  })
})

describe('what is wrong with a request about a task is an error', () => {
  test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])('%s', async (method) => {
    const { gate, task } = await startAtGate()
    const stranger = await app.createAccount(1)
    const long = 'x'.repeat(5000)
    for (const [taskId, sent] of [
      ['job_00000000000000000000000000', {}],
      ['../wallet', {}],
      ['', {}],
      [`${task.taskId}/events`, {}],
      [long, {}],
      [5, {}],
      [undefined, {}],
      [task.taskId, { key: stranger.key }],
    ] as const) {
      const answer = await ask(method, { taskId, inputResponses: {} }, sent)
      expect(answer.error, String(taskId).slice(0, 40)).toMatchObject({ code: -32_602, message: expect.any(String) })
      expect(JSON.stringify(answer).length).toBeLessThan(3000)
    }
    expect(await getTask(task.taskId)).toMatchObject({ status: 'working' })
    gate.open()
  })

  test('a key that may not read jobs', async () => {
    const { gate, task } = await startAtGate()
    const key = await app.createKey(app.account.accountId, ['generate'])
    const { error } = await ask('tasks/get', { taskId: task.taskId }, { key })
    expect(error).toMatchObject({ code: -32_000, data: { code: 'missing_permission', permission: 'jobs:read' } })
    gate.open()
  })

  test('an update without responses; with responses that nothing asked for, the task stays as it is', async () => {
    const { gate, task } = await startAtGate()
    const { taskId } = task
    await gate.begun()
    await expect.poll(() => getTask(taskId)).toMatchObject({ statusMessage: 'running, 50 %' })
    const before = await getTask(taskId)
    const { error } = await ask('tasks/update', { taskId })
    expect(error).toMatchObject({ code: -32_602, message: expect.stringContaining('inputResponses') })
    const inputResponses = { name: { action: 'accept', content: { prompt: 'y' } } }
    expect((await ask('tasks/update', { taskId, inputResponses })).result.resultType).toBe('complete')
    expect(await getTask(taskId)).toEqual(before)
    gate.open()
  })
})

test.each([
  ['queued', { queue_position: 3 }, 'working', 'queued, position 3'],
  ['queued', {}, 'working', 'queued'],
  ['running', { progress: 0.999 }, 'working', 'running, 99 %'],
  ['needs_review', {}, 'working', expect.stringContaining('operator')],
  ['succeeded', {}, 'completed', 'succeeded'],
  ['failed', { error: { message: 'It broke.' } }, 'completed', 'failed: It broke.'],
  ['expired', {}, 'completed', 'expired'],
  ['canceled', {}, 'cancelled', 'canceled'],
] as const)('P276 a job that is %s with %j is a task that is %s', async (status, facts, state, statusMessage) => {
  const { body: job } = await app.generate('test/instant/text-to-image', { prompt: 'x' })
  const answer = createMcp({ waitSeconds: 1, report: console.error })
  const headers = { 'content-type': 'application/json', ...toHeaders('tasks/get', job.job_id) }
  const request = new Request('http://x/mcp', { method: 'POST', headers })
  const body = toMessage('tasks/get', { taskId: job.job_id }, declared)
  const fetch = async () => Response.json({ ...job, ...facts, status })
  const { signal } = new AbortController()
  const made = await answer(request, body, { connection: { url: 'http://x', key: 'mgk_x', fetch }, signal })
  const { result }: any = await made.json()
  expect(result).toMatchObject({ status: state, statusMessage })
  expect(result.result?.isError).toBe(state === 'completed' ? status !== 'succeeded' : undefined)
})
