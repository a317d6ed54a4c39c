// The input in the record of a job: where it is whole, where it is brief, and where it is not (P26, P27, P28, P187).
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { afterAll, describe, expect, test } from 'vitest'
import { GenerationService } from '../../gen/mediagen/v1/generation_pb.ts'
import { startTestApp } from '../test-app.ts'
import { expectProblem } from './problem.ts'
import { createTestClock } from './test-clock.ts'

const app = await startTestApp()
afterAll(() => app[Symbol.asyncDispose]())
const model = 'test/nothing/text-to-image'
const long = 'x'.repeat(1023)
const input = { prompt: 'a fox in snow', width: 512, nested: { deep: ['Ünder', long] } }
const brief = { prompt: 'a fox in snow', width: 512 }

async function start() {
  const account = await app.createAccount(100)
  const { body } = await app.generate(model, input, { account, wait: true, idempotencyKey: 'one' })
  const read = async (path = '') => (await app.send(`/v1/jobs${path}`, { key: account.key })).body
  return { account, body, read }
}

describe('the input of a job', () => {
  test('is whole in its record, and brief in everything else', async () => {
    const { account, body, read } = await start()
    expect((await read(`/${body.job_id}`)).input).toEqual(input)
    expect(body.input).toEqual(brief)
    expect((await read()).data[0].input).toEqual(brief)
    const again = await app.generate(model, input, { account, idempotencyKey: 'one' })
    expect(again.headers.get('idempotent-replayed')).toBeNull()
    const canceled = await app.send(`/v1/jobs/${body.job_id}/cancel`, { method: 'POST', key: account.key })
    expect(canceled.body.input).toEqual(brief)
    const events = (await app.send(`/v1/jobs/${body.job_id}/events`, { key: account.key })).body as string
    const [, data = ''] = /^data: (.*)$/m.exec(events) ?? []
    expect(JSON.parse(data).input).toEqual(brief)
  })

  test('is as it was sent, without defaults', async () => {
    const { body } = await app.generate(model, { prompt: 'plain' }, { wait: true })
    expect((await app.send(`/v1/jobs/${body.job_id}`)).body.input).toEqual({ prompt: 'plain' })
  })

  test('over gRPC it is a Struct', async () => {
    const { account, body } = await start()
    const client = createClient(GenerationService, createGrpcTransport({ baseUrl: app.app.grpcUrl ?? '' }))
    const headers = { authorization: `Bearer ${account.key}` }
    expect((await client.getJob({ jobId: body.job_id }, { headers })).job?.input).toEqual(input)
    expect((await client.listJobs({}, { headers })).jobs[0]?.input).toEqual(brief)
  })

  test('a value of 1024 characters of JSON is in lists, one of 1025 is not', async () => {
    const account = await app.createAccount(100)
    const prompts = ['p'.repeat(1022), 'q'.repeat(1023)]
    for (const prompt of prompts) await app.generate(model, { prompt }, { account })
    const { data } = (await app.send('/v1/jobs', { key: account.key })).body
    expect(data.map((job: any) => job.input)).toEqual([{}, { prompt: prompts[0] }])
  })

  test('is null when retention has removed it', async () => {
    const clock = createTestClock()
    await using short = await startTestApp({ MEDIAGEN_RETAIN_HOURS: '1' }, { clock })
    const { body } = await short.generate(model, input, { wait: true })
    const read = async () => (await short.send(`/v1/jobs/${body.job_id}`)).body
    expect((await read()).input).toEqual(input)
    clock.ms += 3_601_000
    await expect.poll(async () => (await read()).input).toBeNull()
    expect((await short.send('/v1/jobs')).body.data[0].input).toBeNull()
  })
})

describe('GET /v1/jobs?search=', () => {
  const found = async (account: { key: string }, search: string) =>
    (await app.send(`/v1/jobs?search=${encodeURIComponent(search)}`, { key: account.key })).body

  test('finds texts anywhere in an input, and names of fields nowhere', async () => {
    const account = await app.createAccount(100)
    for (const prompt of ['A Fox in snow', 'a 100 % red_fox', String.raw`back\slash`, 'a boat'])
      await app.generate(model, { prompt, nested: { note: [`about ${prompt}`] } }, { account })
    const prompts = async (search: string) =>
      (await found(account, search)).data.map((job: any) => job.input.prompt).toReversed()
    expect(await prompts('fox')).toEqual(['A Fox in snow', 'a 100 % red_fox'])
    expect(await prompts('about a boat')).toEqual(['a boat'])
    expect(await prompts('100 %')).toEqual(['a 100 % red_fox'])
    expect(await prompts('d_f')).toEqual(['a 100 % red_fox'])
    expect(await prompts('%')).toEqual(['a 100 % red_fox'])
    expect(await prompts('k\\s')).toEqual([String.raw`back\slash`])
    expect(await prompts('prompt')).toEqual([])
    expect(await found(account, 'fox')).toMatchObject({ total: 2, has_more: false })
  })

  test('other accounts have jobs of their own', async () => {
    await app.generate(model, { prompt: 'a walrus' })
    expect((await found(await app.createAccount(0), 'walrus')).total).toBe(0)
  })

  test('P207: more than 200 characters are refused, of the text and of the model; a pair of surrogates is one', async () => {
    for (const field of ['search', 'model'])
      expectProblem(await app.send(`/v1/jobs?${field}=${'x'.repeat(201)}`), app.url, 'invalid_request')
    expect(await found(await app.createAccount(0), '\u{1F98A}'.repeat(200))).toMatchObject({ total: 0 })
  })
})
