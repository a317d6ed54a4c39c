// The code of every operation in the reference, in every language, run against a real server.
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readReference } from '../../web/docs/document.ts'
import { toRequest } from '../../web/docs/try-request.ts'
import { toSamples } from '../../web/request-sample.ts'
import { startTestApp, testCatalog } from '../test-app.ts'
import { createPlace, missing } from './run-code.ts'

const app = await startTestApp({
  MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'true',
  MEDIAGEN_CATALOG: `${testCatalog}:${join(import.meta.dirname, '../models/openai.yaml')}`,
  MEDIAGEN_OPENAI_SPEECH_MODEL: 'tts-1',
})
const place = createPlace(app.account.key)
afterAll(async () => {
  place[Symbol.dispose]()
  await app[Symbol.asyncDispose]()
})

const model = 'test/instant/text-to-image'
const input = { prompt: 'x' }
const { operations } = readReference((await app.send('/openapi.json', { key: null })).body)

/** What is filled in: ids of records that were made for this run. */
async function fill(): Promise<{ values: Map<string, string>; bodies: Readonly<Record<string, object>> }> {
  const quote = await app.quote(model, input)
  const webhook = { url: 'https://example.com/hooks' }
  const { body: created } = await app.send('/v1/webhooks', { body: webhook })
  const { body: job } = await app.generate(model, input)
  const { body: deliveries } = await app.send(`/v1/webhooks/${created.webhook_id}/deliveries`)
  const upload = await fetch(`${app.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.account.key}`, 'content-type': 'image/png' },
    body: Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
      'base64',
    ),
  })
  const file: any = await upload.json()
  const { body: key } = await app.send('/v1/keys', { body: { permissions: ['generate'] } })
  const asset = new URL(job.outputs[0].url)
  return {
    values: new Map([
      ['model', model],
      ['job_id', job.job_id],
      ['webhook_id', created.webhook_id],
      ['delivery_id', deliveries.data?.[0]?.delivery_id],
      ['file_id', file.file_id],
      ['key_id', key.key_id],
      ['code', 'quote_expired'],
      ['key', decodeURIComponent(asset.pathname.slice('/assets/'.length))],
      ['expires', asset.searchParams.get('expires') ?? ''],
      ['signature', asset.searchParams.get('signature') ?? ''],
      ['Idempotency-Key', crypto.randomUUID()],
    ]),
    bodies: {
      createQuote: { model, input },
      startGeneration: { model, input, quote_id: quote.quote_id },
      run: { model, input, max_credits: 100 },
      createWebhook: webhook,
      createOwnKey: { permissions: ['generate', 'jobs:read'], limits: { per_start: 9 } },
      changeOwnKeyLimits: { limits: { per_start: 5, daily: null } },
      createImage: { model, ...input, max_credits: 100 },
      editImage: { model: 'test/openai/image-to-image', image: file.file_id, max_credits: 100 },
      createSpeech: { model: 'tts-1', input: 'Good evening.', max_credits: 100 },
    },
  }
}

async function forget(values: ReadonlyMap<string, string>): Promise<void> {
  await app.send(`/v1/webhooks/${values.get('webhook_id')}`, { method: 'DELETE' })
}

const languages = ['curl', 'Python', 'TypeScript', 'buf curl']
// The models of tests have no samples.
const routes = operations.filter(({ method, id }) => method !== 'EVENT' && id !== 'getSample')

test.each(routes.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
  '%s',
  async (_route, operation) => {
    for (const language of languages.filter((name) => !missing[name])) {
      const { values, bodies } = await fill()
      const known = new Map(
        operation.parameters.flatMap(({ name, required }) => {
          const value = values.get(name)
          return required && value !== undefined ? [[name, value] as const] : []
        }),
      )
      for (const { name, required } of operation.parameters) if (required) expect(known.has(name)).toBe(true)
      const body = bodies[operation.id]
      const request = toRequest(operation, { values: known, body: body ? JSON.stringify(body) : '' }, app.url)
      const code = toSamples(request).find(({ name }) => name === language)?.code
      if (code === undefined) {
        expect([language, operation.rpc]).toEqual(['buf curl', null])
        continue
      }
      const printed = await place.run(language, code)
      expect([language, printed]).not.toEqual([language, expect.stringMatching(/^\{"type":|^[45]\d\d/)])
      if (request.answer === 'events') expect(printed).toMatch(/succeeded/i)
      else if (request.answer === 'json' && /Python|TypeScript/.test(language)) expect(printed).toMatch(/^20[0-2] /)
      await forget(values)
    }
  },
)
