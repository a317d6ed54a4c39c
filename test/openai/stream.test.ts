// Pictures as events, read by OpenAI's own library (P267).
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI, { APIError } from 'openai'
import { afterAll, expect, test } from 'vitest'
import { makeFolder, modelOf, price, writeCatalog } from '../faults/fixture.ts'
import { startTestApp } from '../test-app.ts'

// Each further draft waits until the test has seen the one before.
const draw = `for i in 1 2 3; do
  cp "$0" .draft-$i.png; echo "{\\"preview\\": \\".draft-$i.png\\"}"
  until [ -e "$1/seen-$i" ]; do sleep 0.05; done
done; cp "$0" out.png`
const fail = `cp "$0" .draft.png; echo '{"preview": ".draft.png"}'; until [ -e "$1/fail" ]; do sleep 0.05; done
echo '{"error":{"message":"the paint ran out"}}'; exit 3`

const folder = makeFolder()
const file = writeCatalog(folder.path, [
  { name: 'draw', script: draw },
  { name: 'fail', script: fail },
  ...['slow', 'late'].map((name) => ({
    name,
    script: `until [ -e "$1/${name}" ]; do sleep 0.05; done; cp "$0" out.png`,
  })),
])
const { models } = JSON.parse(readFileSync(file, 'utf8'))
for (const model of models) model.input.properties = { prompt: { type: 'string' } }
writeFileSync(file, JSON.stringify({ models }))
const app = await startTestApp({ MEDIAGEN_CATALOG: file, MEDIAGEN_OPENAI_MAX_CREDITS: '10' })
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const path = '/v1/images/generations'
const note = (name: string) => writeFileSync(join(folder.path, name), '')

async function createClient(credits = 1000) {
  const account = await app.createAccount(credits)
  const sdk = new OpenAI({ apiKey: account.key, baseURL: `${app.url}/v1` })
  const jobs = async () => (await app.send('/v1/jobs', { key: account.key })).body
  const wallet = async () => (await app.send('/v1/wallet', { key: account.key })).body
  return { account, sdk, jobs, wallet }
}

/** Sends a request and reads its events as they are. */
async function readEvents(key: string, body: object, headers: Record<string, string> = {}) {
  const answer = await fetch(app.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const events = (await answer.text()).split('\n\n').flatMap((event) => /^event: (.*)\ndata: (.*)$/.exec(event) ?? [])
  return { answer, names: events.filter((_, i) => i % 3 === 1), data: events.filter((_, i) => i % 3 === 2) }
}

test('drafts come as they are shown, up to the number that was asked for; then the picture and its charge', async () => {
  const { sdk, jobs, wallet } = await createClient()
  const body = { model: modelOf('draw'), prompt: 'a fox', stream: true, partial_images: 2 } as const
  const { data: stream, response } = await sdk.images.generate(body).withResponse()
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(response.headers.get('x-should-retry')).toBe('false')
  const [job] = (await jobs()).data
  expect(response.headers.get('mediagen-job')).toBe(job.job_id)
  const events = []
  for await (const event of stream) {
    events.push(event)
    note(`seen-${events.length}`)
    if (events.length === 2) note('seen-3')
  }
  const shared = { created_at: expect.any(Number), quality: 'auto', background: 'auto' }
  expect(events.map(({ b64_json: _b64_json, ...rest }) => rest)).toEqual([
    ...[0, 1].map((partial_image_index) => ({
      type: 'image_generation.partial_image',
      partial_image_index,
      ...shared,
      size: 'auto',
      output_format: 'webp',
    })),
    {
      type: 'image_generation.completed',
      ...shared,
      size: expect.stringMatching(/^\d+x\d+$/),
      output_format: 'png',
      usage: {
        input_tokens: 0,
        input_tokens_details: { text_tokens: 0, image_tokens: 0 },
        output_tokens: 0,
        total_tokens: 0,
      },
      credits_charged: price,
    },
  ])
  const starts = events.map(({ b64_json }) => Buffer.from(b64_json, 'base64').toString('latin1').slice(0, 4))
  expect(starts).toEqual(['RIFF', 'RIFF', '\u0089PNG'])
  expect(await wallet()).toMatchObject({ available: 990, held: 0 })
})

test('without drafts, or for a key that may not watch, there is the picture alone', async () => {
  for (const name of ['seen-1', 'seen-2', 'seen-3']) note(name)
  const { account } = await createClient()
  const blind = await app.createKey(account.accountId, ['generate'])
  const body = { model: modelOf('draw'), prompt: 'x', stream: true }
  expect((await readEvents(account.key, body)).names).toEqual(['image_generation.completed'])
  expect((await readEvents(blind, { ...body, partial_images: 3 })).names).toEqual(['image_generation.completed'])
})

test.each<[object, string]>([
  [{ stream: true, n: 2 }, 'n'],
  [{ stream: true, response_format: 'url' }, 'response_format'],
  [{ stream: true, partial_images: 4 }, 'partial_images'],
  [{ stream: 'yes' }, 'stream'],
  [{ partial_images: 1 }, 'partial_images'],
])('%o is refused by name, and nothing is held', async (change, param) => {
  const { account, jobs } = await createClient()
  const body = { model: modelOf('draw'), prompt: 'x', ...change }
  const refused = await app.send(path, { key: account.key, body })
  expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_request', error: { param } } })
  expect((await jobs()).total).toBe(0)
})

test('what is refused before the start is a problem with its status', async () => {
  const { account, sdk } = await createClient(1)
  const body = { model: modelOf('draw'), prompt: 'x', stream: true } as const
  await expect(sdk.images.generate(body)).rejects.toMatchObject({ status: 402, code: 'insufficient_credits' })
  const raw = await app.send(path, { key: account.key, body: { ...body, max_credits: 1 } })
  expect(raw).toMatchObject({ status: 402, body: { code: 'price_above_maximum' } })
})

test('a failed job ends the stream with an error, costs nothing, and is not joined by an equal request', async () => {
  const { sdk, account, jobs, wallet } = await createClient()
  const body = { model: modelOf('fail'), prompt: 'x', stream: true, partial_images: 1 } as const
  const seen: string[] = []
  const read = async () => {
    for await (const { type } of await sdk.images.generate(body)) {
      seen.push(type)
      note('fail')
    }
  }
  const error: unknown = await read().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(APIError)
  expect(error).toMatchObject({ code: 'generation_failed', type: 'server_error', param: null })
  expect((error as APIError).message).toContain('the paint ran out')
  expect(seen).toEqual(['image_generation.partial_image'])
  expect(await wallet()).toMatchObject({ available: 1000, held: 0 })
  const again = await readEvents(account.key, body)
  expect([again.answer.status, again.names.at(-1)]).toEqual([200, 'error'])
  expect((await jobs()).total).toBe(2)
})

test('a repeated stream after a cut line has the same job, which is paid once', async () => {
  const { account, jobs, wallet } = await createClient()
  const body = { model: modelOf('slow'), prompt: 'cut', stream: true, partial_images: 1 }
  const line = new AbortController()
  const first = await fetch(app.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: line.signal,
  })
  line.abort()
  await first.text().catch(() => {})
  note('slow')
  const second = await readEvents(account.key, body, { 'x-stainless-retry-count': '1' })
  expect(second.names).toEqual(['image_generation.completed'])
  expect(second.answer.headers.get('mediagen-job')).toBe(first.headers.get('mediagen-job'))
  expect(await wallet()).toMatchObject({ available: 990, held: 0 })
  expect((await jobs()).total).toBe(1)
})

test('a stream whose wait is over names its job, for which an equal request waits', async () => {
  await using hasty = await startTestApp({
    MEDIAGEN_CATALOG: file,
    MEDIAGEN_OPENAI_MAX_CREDITS: '10',
    MEDIAGEN_WAIT_SECONDS: '1',
  })
  const body = { model: modelOf('late'), prompt: 'x' }
  const sdk = new OpenAI({ apiKey: hasty.account.key, baseURL: `${hasty.url}/v1` })
  const read = async () => {
    for await (const _event of await sdk.images.generate({ ...body, stream: true }));
  }
  const error: unknown = await read().catch((thrown: unknown) => thrown)
  const [job] = (await hasty.send('/v1/jobs')).body.data
  expect(error).toMatchObject({ code: 'generation_unfinished', message: expect.stringContaining(job.job_id) })
  note('late')
  const listJobs = async () => (await hasty.send('/v1/jobs')).body
  await expect.poll(async () => (await listJobs()).data).toMatchObject([{ status: 'succeeded' }])
  await read()
  expect((await listJobs()).total).toBe(1)
})
