// What the models that ship show of themselves: samples, plain words, named choices, and words that a search finds (P81).
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createClient, createRouterTransport } from '@connectrpc/connect'
import { builtinCatalog } from '@mediagen/builtin/catalog.ts'
import { createBuiltinEngine } from '@mediagen/builtin/engine.ts'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import sharp from 'sharp'
import { afterAll, describe, expect, test } from 'vitest'
import { CatalogService } from '../../gen/mediagen/v1/catalog_pb.ts'
import { makeSample, sampleWorks } from '../../packages/builtin/catalog/samples.ts'
import { loadCatalog } from '../../src/catalog/load.ts'
import { createProber } from '../../src/files/media/prober.ts'
import { createCatalogService } from '../../src/services/catalog.ts'
import { kinds } from './kinds.ts'

// Loaded as an operator's file is: each sample is read, and its input validated.
const models = loadCatalog(builtinCatalog, kinds)
const each = models.map((model) => [model.id, model] as const)
const folder = dirname(sampleWorks[0]?.file ?? '')
const scratch = mkdtempSync(join(tmpdir(), 'mediagen-samples-'))
const engine = createBuiltinEngine({ poolSize: 2 })
const prober = createProber({
  maxRssBytes: 1e9,
  spare: 0,
  timeoutMs: 60_000,
  bounds: { pixels: 1e8, side: 10_000 },
  ffmpegPath: null,
})
afterAll(async () => {
  await Promise.all([engine.close(), prober.close()])
  rmSync(scratch, { recursive: true })
})

test.each(each)('%s has samples, with the sizes that they have', async (_id, { samples, sampleFiles, modality }) => {
  expect(samples.length).toBeGreaterThan(0)
  for (const [index, sample] of samples.entries()) {
    const path = sampleFiles.get(basename(sample.url)) as string
    const { size: bytes } = statSync(path)
    const previewPath = join(scratch, `${basename(path)}-${index}`)
    const facts = await prober.inspect({ path, name: path, bytes, previewPath, owner: 'test' })
    expect(facts.contentType).toBe(sample.contentType)
    expect(sample.contentType).toMatch(new RegExp(`^${modality}/`))
    expect([sample.width, sample.height]).toEqual([facts.width, facts.height])
    expect(sample.durationSeconds ?? 0).toBeCloseTo(facts.durationSeconds ?? 0, 1)
    // Of pictures those that the catalog shows.
    expect(sample.previewUrl !== null, 'it has a small picture').toBe(modality !== 'image' || index === 0)
  }
})

test('there are no other files than those of the samples, and they are small', () => {
  const named = sampleWorks.flatMap(({ file, preview }) => [file, ...(preview === null ? [] : [preview])])
  expect(readdirSync(folder).toSorted()).toEqual(named.map((file) => basename(file)).toSorted())
  const bytes = new Map(named.map((file) => [basename(file), statSync(file).size]))
  for (const [name, size] of bytes) if (/\.(webp|jpg)$/.test(name)) expect(size, name).toBeLessThanOrEqual(40_960)
  expect([...bytes.values()].reduce((sum, size) => sum + size)).toBeLessThan(3_000_000)
})

const [pictures, sounds] = [['art-aurora.webp', 'poster-lato.webp', 'edit-sale.webp'], ['voice-kal.mp3']]

function workOf(name: string) {
  const work = sampleWorks.find(({ file }) => basename(file) === name)
  if (!work) throw new Error(`no sample is called ${name}`)
  return work
}

test.each(pictures)('%s is what its model makes of its input today', async (name) => {
  const work = workOf(name)
  const made = await makeSample(engine, work, join(scratch, name))
  const [there, anew] = await Promise.all(
    [work.file, made].map((file) => sharp(file).removeAlpha().raw().toBuffer({ resolveWithObject: true })),
  )
  expect(anew?.info).toEqual(there?.info)
  // Encoders may round differently on another processor.
  const difference =
    there?.data.reduce((sum, value, at) => sum + Math.abs(value - (anew?.data[at] ?? 0)), 0) ?? Infinity
  expect(difference / (there?.data.length ?? 1)).toBeLessThan(1)
})

test.each(sounds)('%s is as long as what its model makes of its input today', async (name) => {
  const work = workOf(name)
  const made = await makeSample(engine, work, join(scratch, name))
  expect(statSync(made).size).toBe(statSync(work.file).size)
})

test.each(each)('%s says in two plain sentences what it does, and the rest apart', (_id, { description }) => {
  const [said = '', ...rest] = description.split('\n')
  expect(said.match(/[.](?= |$)/g), said).toHaveLength(2)
  expect(said.length).toBeLessThanOrEqual(260)
  expect(rest.join(' ')).toMatch(/^Use it (for|to) /)
})

/** The choices of a schema, however deep. */
function choicesOf(schema: JsonObject): JsonObject[] {
  const inside = Object.values((schema['properties'] ?? {}) as Record<string, JsonObject>)
  if (schema['items']) inside.push(schema['items'] as JsonObject)
  return [...(schema['enum'] ? [schema] : []), ...inside.flatMap(choicesOf)]
}

test.each(each)('%s names and explains options that it has, all or none', (_id, { inputSchema }) => {
  for (const choice of choicesOf(inputSchema))
    for (const keyword of ['x-enum-titles', 'x-enum-descriptions', 'x-enum-samples'])
      if (choice[keyword])
        expect(Object.keys(choice[keyword]).toSorted(), `${String(choice['title'])} ${keyword}`).toEqual(
          (choice['enum'] as string[]).toSorted(),
        )
})

test.each(['builtin/audio/speech/text-to-speech', 'builtin/video/narrated/text-to-video'])(
  'each voice of %s has a name, and can be heard',
  (id) => {
    const schema = models.find((one) => one.id === id)?.inputSchema ?? {}
    const { voice = {} } = schema['properties'] as Record<string, JsonObject>
    const { 'x-enum-titles': titles, 'x-enum-samples': sounds, enum: options } = voice as Record<string, JsonObject>
    for (const option of Object.values(options ?? {})) {
      expect(titles?.[String(option)]).toMatch(/^[A-Z]/)
      expect(sounds?.[String(option)]).toBe(`../samples/voice-${String(option)}.mp3`)
    }
  },
)

describe('a search finds what a model does', () => {
  const catalog = {
    ready: () => models,
    find: () => undefined,
    resolve: () => undefined,
    unready: () => null,
    endOf: () => null,
  }
  const service = createCatalogService({ catalog, baseUrl: () => '' })
  const client = createClient(
    CatalogService,
    createRouterTransport(({ service: add }) => add(CatalogService, service)),
  )
  test.each([
    ['slideshow', ['builtin/video/slideshow/images-to-video']],
    ['photo film', ['builtin/video/slideshow/images-to-video', 'builtin/video/kenburns/image-to-video']],
    ['holidays montage', ['builtin/video/slideshow/images-to-video']],
    ['narrated video', ['builtin/video/narrated/text-to-video']],
    ['subtitles', ['builtin/video/narrated/text-to-video']],
    ['enlarge', ['builtin/image/upscale']],
    ['upscale', ['builtin/image/upscale']],
    ['crop', ['builtin/image/art/edit']],
    ['watermark', ['builtin/image/art/edit']],
    ['black and white', ['builtin/image/art/edit']],
    ['wallpaper', ['builtin/image/art/text-to-image']],
    ['flyer', ['builtin/image/poster/text-to-image']],
    ['animate photo', ['builtin/video/kenburns/image-to-video']],
    ['kinetic typography', ['builtin/video/motion/text-to-video']],
    ['voice-over', ['builtin/audio/speech/text-to-speech']],
    ['TTS', ['builtin/audio/speech/text-to-speech']],
    ['soundtrack', ['builtin/audio/music/text-to-audio']],
    ['Background  MUSIC', ['builtin/audio/music/text-to-audio', 'builtin/video/motion/text-to-video']],
    // No model that ships does these.
    ['lip sync', []],
    ['remove background', []],
  ])('%s', async (search, expected) => {
    const found = (await client.listModels({ search })).models.map(({ id }) => id)
    expect(found.toSorted()).toEqual([...expected].toSorted())
    const { products } = await client.listProducts({ search })
    expect(products.flatMap(({ modes }) => modes.map(({ model }) => model)).toSorted()).toEqual(
      [...expected].toSorted(),
    )
  })
})
