// The catalog files that ship: every entry loads, has a price for its example, and says where that price comes from.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { loadCatalog } from '@mediagen/catalog/load.ts'
import type { Model } from '@mediagen/catalog/model.ts'
import { createSecrets } from '@mediagen/backends/secrets.ts'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type FakeUpstream, serveFake, tinyPng } from '../../packages/backends/test/remote/fakes/fake.ts'
import { createFakeFal } from '../../packages/backends/test/remote/fakes/fal.ts'
import { createFakeOpenai } from '../../packages/backends/test/remote/fakes/openai.ts'
import { createFakeReplicate } from '../../packages/backends/test/remote/fakes/replicate.ts'
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
  expect(models.length).toBeGreaterThanOrEqual(20)
})

test('all files load together', () => {
  expect(() => loadCatalog([folder], kinds)).not.toThrow()
})

describe.each(files)('%s', (file) => {
  const text = readFile(file)
  const models = loadCatalog([join(folder, file)], kinds)
  const entries = parse(text).models as JsonObject[]

  test('says what a credit is worth, and that nothing was run', () => {
    expect(text).toContain('# 1000 credits are one US dollar')
    expect(text).toContain('# Nothing in this file was ever run against')
  })

  test('its one provider has a key by name and no address', () => {
    const providers = Object.values(parse(text).providers as Record<string, JsonObject>)
    expect(providers).toHaveLength(1)
    expect(providers[0]).toMatchObject({ token_env: expect.stringMatching(/^[A-Z]+_[A-Z_]+$/) })
    expect(providers[0]).not.toHaveProperty('base_url')
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

interface Made {
  readonly file: string
  readonly model: string
  readonly input: JsonObject
  readonly path?: string
  /** What the picture costs in the end. */
  readonly credits: number
  open(): FakeUpstream & { readonly wrong?: readonly string[] }
}

test.each<Made>([
  {
    file: 'fal.yaml',
    model: 'fal/flux-schnell/text-to-image',
    input: { prompt: 'a boat', num_images: 2 },
    credits: 6,
    open: () => createFakeFal({ token: key }),
  },
  {
    file: 'replicate.yaml',
    model: 'replicate/flux-dev/text-to-image',
    input: { prompt: 'a boat' },
    path: '/v1',
    credits: 25,
    open: () => createFakeReplicate({ nowMs: Date.now, token: key }),
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
])(
  'a key is all that $file needs for a picture of $model',
  async ({ file, model, input, path = '', credits, open }) => {
    const fake = open()
    await using served = await serveFake(fake)
    const copy = mkdtempSync(join(tmpdir(), 'mediagen-catalog-'))
    const [named = '', name = ''] = /token_env: (\w+)/.exec(readFile(file)) ?? []
    // The file as it ships, but with the fake in the service's place.
    const text = readFile(file).replace(named, `${named}, base_url: '${served.origin}${path}'`)
    writeFileSync(join(copy, file), text)
    try {
      await using app = await startTestApp(
        { MEDIAGEN_CATALOG: join(copy, file) },
        { secrets: createSecrets({ [name]: key }) },
      )
      const { body } = await app.generate(model, input)
      expect(body).toMatchObject({
        error: null,
        status: 'succeeded',
        credits,
        outputs: [{ content_type: 'image/png' }],
      })
      expect(fake.wrong ?? []).toEqual([])
    } finally {
      rmSync(copy, { recursive: true })
    }
  },
)
