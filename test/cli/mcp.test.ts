// mediagen mcp: the tools on standard input and output, used by the official SDK's client, which starts the program.
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { createClient as createUser } from '@mediagen/client/client.ts'
import { Client, type ClientOptions, InMemoryTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createToolServer } from '../../src/mcp/server.ts'
import { createTools } from '../../src/mcp/tools.ts'
import { openForgetfulProxy } from '../client/spoiled-proxy.ts'
import { startTestApp } from '../test-app.ts'
import { openCommandLine, watchEnd } from './command-line.ts'

const app = await startTestApp()
// On the way of one of the programs, which has an account of its own: its first two starts get no answer.
const proxy = await openForgetfulProxy(app.url)
const account = await app.createAccount(100)
afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})
const program = join(import.meta.dirname, '../../bin/mediagen.js')
const model = 'test/instant/text-to-image'
const input = { prompt: 'x' }

/** A client of a program of its own. */
function open(args: readonly string[] = [], env: Record<string, string> = {}, options: ClientOptions = {}) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, 'mcp', ...args],
    env: { MEDIAGEN_URL: app.url, MEDIAGEN_KEY: app.account.key, XDG_CONFIG_HOME: app.folder, ...env },
    stderr: 'inherit',
  })
  const client = new Client({ name: 'test', version: '1' }, options)
  return {
    client,
    connect: () => client.connect(transport),
    async ask(name: string, given: object = {}, how: Parameters<Client['callTool']>[1] = {}): Promise<any> {
      return (await client.callTool({ name, arguments: { ...given } }, how)).structuredContent
    },
  }
}

// A program for each revision of the protocol; they differ in what the agent may spend, too.
const forgetful = { MEDIAGEN_URL: proxy.url, MEDIAGEN_KEY: account.key }
const legacy = open([], forgetful, { versionNegotiation: { mode: 'legacy' } })
const pinned = open(['--max-credits', '10'], {}, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
beforeAll(() => Promise.all([legacy.connect(), pinned.connect()]))
afterAll(() => Promise.all([legacy.client.close(), pinned.client.close()]))

test('a start whose answer is lost is repeated: one job, one charge', async () => {
  const { job_id } = await legacy.ask('start_generation', { model, input, max_credits: 3, idempotency_key: 'lost' })
  await legacy.ask('wait_for_job', { job_id })
  expect([await legacy.ask('get_wallet'), proxy.seen.starts]).toEqual([{ available: 97, held: 0 }, 3])
})

test.each([
  ['legacy', legacy],
  ['2026-07-28', pinned],
])('an agent starts, waits and gets a link: %s', async (_, agent) => {
  const gate = app.gate()
  const order = {
    model: 'test/gate/text-to-image',
    input: gate.input,
    max_credits: 10,
    idempotency_key: gate.input.gate,
  }
  const { job_id } = await agent.ask('start_generation', order)
  expect(await agent.ask('start_generation', order)).toMatchObject({ job_id })
  const steps: number[] = []
  const onprogress = ({ progress }: { progress: number }): void => {
    steps.push(progress)
    if (progress === 0.5) gate.open()
  }
  expect(await agent.ask('wait_for_job', { job_id, seconds: 50 }, { onprogress })).toMatchObject({
    status: 'succeeded',
  })
  expect(steps).toEqual([...new Set(steps)].toSorted((a, b) => a - b))
  expect(steps).toContain(0.5)
  const { content } = (await agent.client.callTool({ name: 'get_job', arguments: { job_id, preview: true } })) as any
  expect(content).toMatchObject([{ type: 'text' }, { type: 'resource_link', mimeType: 'image/png' }, { type: 'image' }])
  const { error } = await agent.ask('wait_for_job', { job_id, seconds: 51 })
  expect(error).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/seconds' }] })
})

test('a call that the agent cancels leaves the job to go on', async () => {
  const gate = app.gate()
  const order = { model: 'test/gate/text-to-image', input: gate.input, max_credits: 10, idempotency_key: 'canceled' }
  const { job_id } = await legacy.ask('start_generation', order)
  const given = new AbortController()
  const onprogress = (): void => given.abort()
  await expect(legacy.ask('wait_for_job', { job_id }, { signal: given.signal, onprogress })).rejects.toThrow()
  gate.open()
  expect(await legacy.ask('wait_for_job', { job_id })).toMatchObject({ status: 'succeeded' })
})

test('--max-credits holds, whatever the agent allows', async () => {
  const order = { model: 'test/usage/text-to-image', input: { seconds: 6 }, max_credits: 1000, idempotency_key: 'much' }
  const { error } = await pinned.ask('start_generation', order)
  expect(error).toMatchObject({ code: 'too_expensive', message: expect.stringContaining('limit of 10') })
})

test.each([
  ['a wrong key', app.url, { code: 'invalid_api_key' }],
  ['a missing server', 'http://127.0.0.1:1', { code: 'unreachable', retryable: true }],
])('%s is a result that says so', async (_, url, error) => {
  const client = createUser({ url, key: 'mgk_wrong' })
  const parts = { client, maxCredits: Infinity, pausesMs: [], report: console.error }
  const server = createToolServer(createTools({}), parts, 'legacy')
  const [near, far] = InMemoryTransport.createLinkedPair()
  const agent = new Client({ name: 'test', version: '1' })
  await Promise.all([server.connect(far), agent.connect(near)])
  const { structuredContent } = await agent.callTool({ name: 'get_wallet' })
  expect(structuredContent).toMatchObject({ error })
  await agent.close()
})

test('a missing key is a sentence', async () => {
  await using line = openCommandLine()
  const { status, stdout, stderr } = await line.run(['mcp'], { XDG_CONFIG_HOME: app.folder })
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^mediagen: There is no API key for .* Run mediagen login/)
})

test('P276 a job is a task to a client that declares Tasks', async () => {
  await using line = openCommandLine({ MEDIAGEN_URL: app.url, MEDIAGEN_KEY: app.account.key })
  const child = await line.start(['mcp'], { XDG_CONFIG_HOME: app.folder }, undefined, 'pipe')
  const answers = createInterface({ input: child.stdout as Readable })[Symbol.asyncIterator]()
  const clientCapabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const said = { protocolVersion: '2026-07-28', clientInfo: { name: 't', version: '1' }, clientCapabilities }
  const _meta = Object.fromEntries(
    Object.entries(said).map(([name, value]) => [`io.modelcontextprotocol/${name}`, value]),
  )
  const ask = async (method: string, params: object = {}) => {
    child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } })}\n`)
    return JSON.parse((await answers.next()).value as string)
  }
  expect((await ask('server/discover')).result.capabilities).toEqual({ tools: {}, ...clientCapabilities })
  const gate = app.gate()
  const order = { model: 'test/gate/text-to-image', input: gate.input, max_credits: 10, idempotency_key: 'task' }
  const { result } = await ask('tools/call', { name: 'start_generation', arguments: order })
  expect(result).toMatchObject({ resultType: 'task', status: 'working' })
  gate.open()
  const { taskId } = result
  await expect
    .poll(() => ask('tasks/get', { taskId }))
    .toMatchObject({
      result: { status: 'completed', result: { structuredContent: { job_id: taskId, status: 'succeeded' } } },
    })
  expect((await ask('tasks/get', { taskId: 'job_none' })).error.code).toBe(-32_602)
  child.stdin?.end()
  await once(child, 'close')
})

test('P279 upload_file takes the path of a picture, and nothing else from the disk', async () => {
  const file = (name: string) => join(app.folder, name)
  writeFileSync(file('Picture.PNG'), readFileSync(join(import.meta.dirname, '../models/picture.png')))
  writeFileSync(file('secret.txt'), 'secret')
  writeFileSync(file('secret.png'), 'secret')
  mkdirSync(file('folder.png'))
  symlinkSync('/dev/zero', file('endless.png'))
  const stored = await pinned.ask('upload_file', { path: file('Picture.PNG') })
  expect(stored).toMatchObject({ file_id: expect.stringMatching(/^file_/), content_type: 'image/png' })
  for (const [name, code, words] of [
    ['secret.txt', 'invalid_request', 'must be the path of a picture'],
    ['secret.png', 'invalid_media', ''],
    ['folder.png', 'invalid_request', 'not a file'],
    ['endless.png', 'invalid_request', 'not a file'],
    ['missing.png', 'invalid_request', 'no such file'],
  ] as const) {
    const { error } = await pinned.ask('upload_file', { path: file(name) })
    expect(error.code, name).toBe(code)
    if (words) expect(error.errors).toMatchObject([{ pointer: '/path', detail: expect.stringContaining(words) }])
  }
  expect((await app.send('/v1/files')).body.total).toBe(1)
})

test('P223 a message that gives a name twice is refused, and the next one is served', async () => {
  await using line = openCommandLine({ MEDIAGEN_URL: app.url, MEDIAGEN_KEY: app.account.key })
  const child = await line.start(['mcp'], { XDG_CONFIG_HOME: app.folder }, undefined, 'pipe')
  const answers = createInterface({ input: child.stdout as Readable })[Symbol.asyncIterator]()
  const say = (...messages: readonly string[]) => child.stdin?.write(messages.map((text) => `${text}\n`).join(''))
  const hear = async () => JSON.parse((await answers.next()).value as string)
  const named = (id: number, given: string) =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"quote","arguments":${given}}}`

  const who = '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}'
  say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":${who}}`)
  expect(await hear()).toMatchObject({ id: 0, result: {} })
  say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  const error = (pointer: string) => ({ code: -32600, message: `${pointer} is given more than once.` })
  // `\u0069` is `i`.
  const parts = named(1, `{"model":"${model}","input":{"prompt":"é"},"\\u0069nput":{}}`)
  child.stdin?.write(Buffer.from(parts).subarray(0, parts.indexOf('é') + 1))
  child.stdin?.write(Buffer.from(`${parts}\n`).subarray(parts.indexOf('é') + 1))
  expect(await hear()).toEqual({ jsonrpc: '2.0', id: 1, error: error('/params/arguments/input') })
  say(`{"jsonrpc":"2.0","id":2,"id":3,"method":"ping"}`)
  expect(await hear()).toEqual({ jsonrpc: '2.0', id: null, error: error('/id') })
  // A notification has no answer.
  say('{"jsonrpc":"2.0","method":"x","method":"y"}', 'no message', '{"jsonrpc":"2.0","id":"a","method":"ping"}')
  expect(await hear()).toMatchObject({ id: 'a', result: {} })
  child.stdin?.end()
  expect(await once(child, 'close')).toEqual([0, null])
})

test('a message without an end stops the program', async () => {
  await using line = openCommandLine({ MEDIAGEN_URL: app.url, MEDIAGEN_KEY: app.account.key })
  const child = await line.start(['mcp'], { XDG_CONFIG_HOME: app.folder }, undefined, 'pipe')
  child.stdin?.on('error', () => {})
  const ended = watchEnd(child)
  child.stdin?.write(' '.repeat(11 * 1024 * 1024))
  expect(await ended).toMatchObject({ status: 0, stdout: '', stderr: expect.stringContaining('longer than') })
})
