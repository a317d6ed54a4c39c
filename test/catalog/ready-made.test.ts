// The catalog files that ship: every entry loads, has a price for its example, and says where that price comes from.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { load } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { loadCatalog } from '../../src/catalog/load.ts'
import type { Model } from '../../src/catalog/model.ts'
import { createSecrets } from '../../src/engines/secrets.ts'
import { createFakeBfl, createFakeElevenlabs, createFakeGoogle, createFakeXai } from '../engines/remote/fakes/ai-sdk.ts'
import { type FakeUpstream, type ServedFake, serveFake, tinyPng } from '../engines/remote/fakes/fake.ts'
import { createFakeFal } from '../engines/remote/fakes/fal.ts'
import { createFakeOpenai } from '../engines/remote/fakes/openai.ts'
import { createFakeReplicate } from '../engines/remote/fakes/replicate.ts'
import { startTestApp } from '../test-app.ts'
import { kinds } from './kinds.ts'

const folder = resolve(import.meta.dirname, '../../catalogs')
const files = readdirSync(folder)
const picture = `data:image/png;base64,${tinyPng.toString('base64')}`
const key = 'sk-very-secret-0123456789'

const readFile = (file: string): string => readFileSync(join(folder, file), 'utf8')

/** An input of what each required field gives as an example. */
function toExample({ inputSchema }: Model): JsonObject {
  const properties = inputSchema['properties'] as Record<string, JsonObject>
  const required = inputSchema['required'] as string[]
  return Object.fromEntries(required.map((name) => [name, toExampleValue(properties[name] as JsonObject)]))
}

function toExampleValue(field: JsonObject): JsonValue {
  if (field['format'] === 'media') return picture
  if (field['type'] === 'array') return [toExampleValue(field['items'] as JsonObject)]
  return (field['examples'] as JsonValue[])[0] as JsonValue
}

test('there are about thirty models', () => {
  const models = files.flatMap((file) => loadCatalog([join(folder, file)], kinds))
  expect(models.length).toBeGreaterThanOrEqual(30)
})

test('all files load together', () => {
  expect(() => loadCatalog([folder], kinds)).not.toThrow()
})

describe.each(files)('%s', (file) => {
  const text = readFile(file)
  const models = loadCatalog([join(folder, file)], kinds)
  const { models: entries, providers } = load(text) as { models: JsonObject[]; providers: Record<string, JsonObject> }

  test('says what a credit is worth, and that nothing was run', () => {
    expect(text).toContain('# 1000 credits are one US dollar')
    expect(text).toContain('# Nothing in this file was ever run against')
  })

  test('its one provider has a key by name and no address', () => {
    const [provider, ...others] = Object.values(providers)
    expect(others).toEqual([])
    expect(provider).toMatchObject({ token_env: expect.stringMatching(/^[A-Z]+_[A-Z_]+$/) })
    expect(provider).not.toHaveProperty('base_url')
  })

  test.each(entries.map((entry) => [entry['id'] as string, entry]))('%s has a source', (_, { source, price }) => {
    expect(source).toMatchObject({
      price: expect.stringMatching(/^https:\/\//),
      input: expect.stringMatching(/^https:\/\//),
      looked_up: expect.stringMatching(/^20\d\d-\d\d-\d\d$/),
      unchecked: expect.stringMatching(/^Never run\. .{20}/),
    })
    expect(price).toHaveProperty('summary')
  })

  test.each(models.map((model) => [model.id, model]))('%s has a price for its example', (_, model) => {
    const checked = model.checkInput(toExample(model))
    expect(checked).toMatchObject({ ok: true })
    if (!checked.ok) return
    const credits = model.quotedPrice(checked.input)
    expect(credits).toBeGreaterThan(0)
    expect(Number.isSafeInteger(credits)).toBe(true)
    // No misspelt field gets through to what costs money.
    expect(model.checkInput({ ...toExample(model), promt: 'x' })).toMatchObject({ ok: false })
  })
})

/** A second of silence, as a WAV file. */
function makeSilence(): Buffer {
  const [rate, data] = [8000, Buffer.alloc(16_000)]
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + data.length, 4)
  head.write('WAVEfmt ', 8)
  for (const [at, value] of [
    [16, 16],
    [24, rate],
    [28, rate * 2],
    [40, data.length],
  ] as const)
    head.writeUInt32LE(value, at)
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    head.writeUInt16LE(value, at)
  head.write('data', 36)
  return Buffer.concat([head, data])
}

/** The same fake, with a sound that can be played. */
function speaking(fake: FakeUpstream): FakeUpstream {
  return {
    async answer(request) {
      const answer = await fake.answer(request)
      return answer.headers?.['content-type'] === 'audio/mpeg' ? { ...answer, body: makeSilence() } : answer
    },
  }
}

interface Made {
  readonly file: string
  readonly model: string
  readonly input: JsonObject
  readonly path?: string
  /** What the picture costs in the end. */
  readonly credits: number
  /** What was requested of the provider, as far as the price depends on it. */
  readonly sent?: object
  readonly makes?: string
  open(): FakeUpstream & { readonly wrong?: readonly string[] }
}

const made: readonly Made[] = [
  {
    file: 'fal.yaml',
    model: 'fal/flux-schnell/text-to-image',
    input: { prompt: 'a boat', num_images: 2 },
    // One picture comes.
    credits: 3,
    open: () => createFakeFal({ token: key, polls: 0 }),
  },
  {
    file: 'replicate.yaml',
    model: 'replicate/flux-dev/text-to-image',
    input: { prompt: 'a boat' },
    path: '/v1',
    credits: 25,
    open: () => createFakeReplicate({ nowMs: Date.now, token: key, polls: 0 }),
  },
  {
    file: 'openai.yaml',
    model: 'openai/gpt-image-2/text-to-image',
    input: { prompt: 'a boat' },
    path: '/v1',
    // 10 tokens were sent and 20 made.
    credits: 1,
    open: () => createFakeOpenai({ nowMs: Date.now, token: key }),
  },
  {
    file: 'openai.yaml',
    model: 'openai/gpt-image-2/edit',
    input: { prompt: 'a boat', image: [picture] },
    path: '/v1',
    credits: 1,
    open: () => createFakeOpenai({ nowMs: Date.now, token: key }),
  },
  {
    file: 'google.yaml',
    model: 'google/gemini-3.1-flash-image/text-to-image',
    input: { prompt: 'a boat' },
    path: '/v1beta',
    credits: 67,
    sent: { generationConfig: { imageConfig: { imageSize: '1K', aspectRatio: '1:1' } } },
    open: () => createFakeGoogle({ token: key }),
  },
  {
    file: 'xai.yaml',
    model: 'xai/grok-imagine-image/text-to-image',
    input: { prompt: 'a boat', n: 2 },
    path: '/v1',
    credits: 40,
    sent: { n: 2, resolution: '1k' },
    open: () => createFakeXai({ token: key }),
  },
  {
    file: 'black-forest-labs.yaml',
    model: 'bfl/flux-1.1-pro/text-to-image',
    input: { prompt: 'a boat' },
    path: '/v1',
    credits: 40,
    sent: { width: 1024, height: 768 },
    open: () => createFakeBfl({ token: key, polls: 0 }),
  },
  {
    file: 'black-forest-labs.yaml',
    model: 'bfl/flux-kontext-max/edit',
    input: { prompt: 'a boat', image: picture },
    path: '/v1',
    credits: 80,
    sent: { input_image: expect.any(String) },
    open: () => createFakeBfl({ token: key, polls: 0 }),
  },
  {
    file: 'elevenlabs.yaml',
    model: 'elevenlabs/v3/text-to-speech',
    input: { text: 'The ship has landed, and nobody was hurt.' },
    credits: 5,
    sent: { text: 'The ship has landed, and nobody was hurt.', model_id: 'eleven_v3' },
    makes: 'audio/wav',
    open: () => speaking(createFakeElevenlabs({ token: key })),
  },
]

test('a key and the file are all that it takes, with a fake instead of every service', async () => {
  await using stack = new AsyncDisposableStack()
  const copies = mkdtempSync(join(tmpdir(), 'mediagen-catalogs-'))
  stack.defer(() => rmSync(copies, { recursive: true }))
  const fakes = new Map<string, ServedFake & { readonly wrong: () => readonly string[] }>()
  const secrets: Record<string, string> = {}
  for (const { file, path = '', open } of made) {
    if (fakes.has(file)) continue
    const fake = open()
    const served = stack.use(await serveFake(fake))
    fakes.set(file, Object.assign(served, { wrong: () => fake.wrong ?? [] }))
    const [named = '', name = ''] = /token_env: (\w+)/.exec(readFile(file)) ?? []
    secrets[name] = key
    // The file as it ships, but with the fake instead of the service.
    const text = readFile(file).replace(named, `${named}, base_url: '${served.origin}${path}'`)
    writeFileSync(join(copies, file), text)
  }
  expect([...fakes.keys()].toSorted()).toEqual(files.toSorted())
  const app = stack.use(await startTestApp({ MEDIAGEN_CATALOG: copies }, { secrets: createSecrets(secrets) }))
  const make = async ({ file, model, input, credits, sent, makes = 'image/png' }: Made): Promise<void> => {
    const { log } = fakes.get(file) as ServedFake
    const before = log.length
    const { body } = await app.generate(model, input)
    expect.soft(body, model).toMatchObject({ error: null, status: 'succeeded', credits })
    expect.soft(body.outputs[0]?.content_type, model).toBe(makes)
    const submissions = log.slice(before).filter(({ method }) => method === 'POST')
    expect.soft(submissions, model).toHaveLength(1)
    if (sent) expect.soft(submissions[0]?.json, model).toMatchObject(sent)
  }
  await Promise.all(
    files.map(async (file) => {
      for (const one of made.filter((other) => other.file === file)) await make(one)
    }),
  )
  expect([...fakes.values()].flatMap(({ wrong }) => wrong())).toEqual([])
})
