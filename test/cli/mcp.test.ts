// mediagen mcp: the tools on standard input and output, used by the official SDK's client, which starts the program.
import { join } from 'node:path'
import { Client, type ClientOptions } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, expect, test } from 'vitest'
import { openForgetfulProxy } from '../client/spoiled-proxy.ts'
import { startTestApp } from '../test-app.ts'

const app = await startTestApp()
afterAll(() => app[Symbol.asyncDispose]())
const program = join(import.meta.dirname, '../../bin/mediagen.js')
const model = 'test/instant/text-to-image'
const input = { prompt: 'x' }

/** A client of a program of its own; `said` is what the program wrote to standard error. */
async function open(args: readonly string[] = [], env: Record<string, string> = {}, options: ClientOptions = {}) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, 'mcp', ...args],
    env: { MEDIAGEN_URL: app.url, MEDIAGEN_KEY: app.account.key, XDG_CONFIG_HOME: app.folder, ...env },
    stderr: 'pipe',
  })
  let said = ''
  transport.stderr?.on('data', (piece) => void (said += String(piece)))
  const client = new Client({ name: 'test', version: '1' }, options)
  return {
    client,
    said: () => said,
    connect: () => client.connect(transport),
    async ask(name: string, given: object = {}, how: Parameters<Client['callTool']>[1] = {}): Promise<any> {
      return (await client.callTool({ name, arguments: { ...given } }, how)).structuredContent
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

test.each(['legacy', { pin: '2026-07-28' }] as const)('an agent starts, waits and gets a link: %o', async (mode) => {
  await using agent = await open([], {}, { versionNegotiation: { mode } })
  await agent.connect()
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
  expect(await agent.ask('wait_for_job', { job_id, seconds: 60 }, { onprogress })).toMatchObject({
    status: 'succeeded',
  })
  expect(steps).toEqual([...new Set(steps)].toSorted((a, b) => a - b))
  expect(steps).toContain(0.5)
  const { content } = (await agent.client.callTool({ name: 'get_job', arguments: { job_id, preview: true } })) as any
  expect(content).toMatchObject([{ type: 'text' }, { type: 'resource_link', mimeType: 'image/png' }, { type: 'image' }])
  const { error } = await agent.ask('wait_for_job', { job_id, seconds: 181 })
  expect(error).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/seconds' }] })
})

test('a start whose answer is lost is repeated: one job, one charge', async () => {
  const account = await app.createAccount(100)
  await using proxy = await openForgetfulProxy(app.url)
  await using agent = await open([], { MEDIAGEN_URL: proxy.url, MEDIAGEN_KEY: account.key })
  await agent.connect()
  const { job_id } = await agent.ask('start_generation', { model, input, max_credits: 3, idempotency_key: 'lost' })
  await agent.ask('wait_for_job', { job_id })
  expect([await agent.ask('get_wallet'), proxy.seen.starts]).toEqual([{ available: 97, held: 0 }, 3])
})

test('a call that the agent cancels leaves the job to go on', async () => {
  await using agent = await open()
  await agent.connect()
  const gate = app.gate()
  const order = { model: 'test/gate/text-to-image', input: gate.input, max_credits: 10, idempotency_key: 'canceled' }
  const { job_id } = await agent.ask('start_generation', order)
  const given = new AbortController()
  const onprogress = (): void => given.abort()
  await expect(agent.ask('wait_for_job', { job_id }, { signal: given.signal, onprogress })).rejects.toThrow()
  gate.open()
  expect(await agent.ask('wait_for_job', { job_id })).toMatchObject({ status: 'succeeded' })
})

test('--max-credits holds, whatever the agent allows', async () => {
  await using agent = await open(['--max-credits', '2'])
  await agent.connect()
  const { error } = await agent.ask('start_generation', { model, input, max_credits: 1000, idempotency_key: 'much' })
  expect(error).toMatchObject({ code: 'too_expensive', message: expect.stringContaining('limit of 2') })
})

test('a wrong key and a missing server are results that say so; a missing key is a sentence', async () => {
  await using wrong = await open([], { MEDIAGEN_KEY: 'mgk_wrong' })
  await wrong.connect()
  expect((await wrong.ask('get_wallet')).error).toMatchObject({ code: 'invalid_api_key' })
  await using away = await open([], { MEDIAGEN_URL: 'http://127.0.0.1:1' })
  await away.connect()
  expect((await away.ask('get_wallet')).error).toMatchObject({ code: 'unreachable', retryable: true })
  await using without = await open([], { MEDIAGEN_KEY: '' })
  await expect(without.connect()).rejects.toThrow()
  await expect.poll(without.said).toMatch(/^mediagen: There is no API key for .* Run mediagen login/)
})
