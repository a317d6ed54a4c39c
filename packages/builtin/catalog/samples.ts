// The samples that the catalog files name, and how each is made: outputs of the models, the pictures that some of them start
// from, and a few words in each voice.
import { mkdir, readdir, readFile, rename } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { Engine, JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { runOf } from '@mediagen/engine/run-of.ts'
import { completeInput, type Entry, entries, findEntry, handIn } from './entries.ts'

/** A file that a model makes. */
export interface SampleWork {
  readonly model: Entry
  /** Absolute path. */
  readonly file: string
  /** Absolute path of its picture; null for none. */
  readonly preview: string | null
  /** As it is written: it may name files. */
  readonly input: JsonObject
}

const folder = import.meta.dirname
const art = findEntry('builtin/image/art/text-to-image')
const speech = findEntry('builtin/audio/speech/text-to-speech')

/** What other samples start from. */
const pictures: Readonly<Record<string, JsonObject>> = {
  'city.jpg': { prompt: 'a quiet city', style: 'blocks', palette: 'orchard', width: 640, height: 360, quality: 60 },
  'city-small.jpg': {
    prompt: 'a quiet city',
    style: 'blocks',
    palette: 'orchard',
    width: 240,
    height: 136,
    quality: 80,
  },
  'sunrise.jpg': {
    prompt: 'mountains at sunrise',
    style: 'ridges',
    palette: 'sunset',
    width: 640,
    height: 360,
    quality: 70,
  },
  'forest.jpg': {
    prompt: 'forest in autumn',
    style: 'forest',
    palette: 'autumn',
    width: 640,
    height: 360,
    quality: 65,
  },
}

/** Every file of `samples/` but previews, in an order in which each finds what it starts from. */
export const sampleWorks: readonly SampleWork[] = [
  ...Object.entries(pictures).map(([name, input]) => ({
    model: art,
    file: join(folder, '../samples', name),
    preview: null,
    input: { seed: 7, format: 'jpeg', ...input },
  })),
  ...entries.flatMap((model) =>
    model.samples.map(({ file, preview, input }) => ({
      model,
      file: join(folder, file),
      preview: preview === undefined ? null : join(folder, preview),
      input,
    })),
  ),
  ...listVoices(),
]

function listVoices(): SampleWork[] {
  const { voice } = speech.input['properties'] as Record<string, JsonObject>
  const names = voice?.['x-enum-titles'] as Record<string, string>
  return Object.entries(voice?.['x-enum-samples'] as Record<string, string>).map(([id, file]) => ({
    model: speech,
    file: join(folder, file),
    preview: null,
    input: { text: `I am ${names[id]}. This is how I sound.`, voice: id },
  }))
}

/**
 * Makes a sample.
 * @param run a folder for this one, which is left behind
 * @returns the path of what was made, in that folder
 */
export async function makeSample(engine: Engine, { model, file, input }: SampleWork, run: string): Promise<string> {
  const completed = completeInput(model, (await embedFiles(input)) as JsonObject)
  const output = join(run, 'out')
  await mkdir(output, { recursive: true })
  const media = (): ReturnType<typeof handIn> => handIn(model, completed, join(run, 'media'))
  await engine.run(model.engine, runOf({ jobId: 'sample', model: model.id, input: completed, media, folder: output }))
  // Drafts begin with a dot.
  const name = (await readdir(output)).find((left) => !left.startsWith('.'))
  if (name === undefined || extname(name).replace('jpeg', 'jpg') !== extname(file))
    throw new Error(`${file} would be made as ${name}`)
  const made = join(run, `made${extname(file)}`)
  await rename(join(output, name), made)
  return made
}

/** The input with `data:` URIs in place of the files that it names. */
async function embedFiles(value: JsonValue): Promise<JsonValue> {
  if (typeof value === 'string')
    return /^\.\.\/samples\/.*\.jpg$/.test(value)
      ? `data:image/jpeg;base64,${(await readFile(join(folder, value))).toString('base64')}`
      : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Promise.all(value.map(embedFiles))
  const embedded = Object.entries(value).map(async ([name, part]) => [name, await embedFiles(part)] as const)
  return Object.fromEntries(await Promise.all(embedded))
}
