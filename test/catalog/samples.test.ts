// `samples` and `x-enum-samples` of catalog files: what is right is read, what is wrong is named. docs/catalog.md, Samples.
// P73, P81.
import { createHash } from 'node:crypto'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { loadCatalog } from '../../src/catalog/load.ts'
import { kinds } from './kinds.ts'
import { paintEntry } from './paint-entry.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-samples-'))
afterAll(() => rmSync(folder, { recursive: true }))
copyFileSync(join(import.meta.dirname, '../models/picture.png'), join(folder, 'cat.png'))
writeFileSync(join(folder, 'ann.mp3'), 'the sound of a voice')
writeFileSync(join(folder, 'huge.mp4'), '')
truncateSync(join(folder, 'huge.mp4'), 21 * 1024 ** 2)
writeFileSync(join(folder, 'big.png'), Buffer.alloc(65_537))
const picture = readFileSync(join(folder, 'cat.png'))

const properties = {
  ...paintEntry.input.properties,
  voice: { enum: ['ann', 'bob'] },
  images: { type: 'array', items: { type: 'string', format: 'media' } },
}
const entry = { ...paintEntry, input: { ...paintEntry.input, properties } }
const sample = { file: 'cat.png', input: { prompt: 'a cat' } }

function load(written: object) {
  const file = join(folder, 'catalog.yaml')
  writeFileSync(file, JSON.stringify({ models: [{ ...entry, ...written }] }))
  const [model] = loadCatalog([file], kinds)
  if (!model) throw new Error('no model')
  return model
}

/** The entry with files for the options of a field. */
function withOptions(files: unknown) {
  const voice = { ...properties.voice, 'x-enum-titles': { ann: 'Ann' }, 'x-enum-samples': files }
  return { input: { ...entry.input, properties: { ...properties, voice } } }
}

test('a sample has a URL that changes with its content, and the words of its input as title', () => {
  const model = load({ samples: [sample] })
  const name = `${createHash('sha256').update(picture).digest('hex').slice(0, 32)}.png`
  expect(model.samples).toEqual([
    {
      title: 'a cat',
      input: { prompt: 'a cat' },
      url: `/samples/${name}`,
      contentType: 'image/png',
      width: null,
      height: null,
      durationSeconds: null,
      previewUrl: null,
    },
  ])
  expect([...model.sampleFiles]).toEqual([[name, join(folder, 'cat.png')]])
})

test('what else an entry says of a sample is kept, and an https: URL is left as it is', () => {
  const url = 'https://media.example/film.mp4?v=1'
  const said = { file: url, preview: 'cat.png', title: 'A film', width: 16, height: 9, duration_seconds: 1.5 }
  const model = load({ samples: [{ ...sample, ...said }] })
  expect(model.samples[0]).toMatchObject({
    title: 'A film',
    url,
    contentType: 'video/mp4',
    width: 16,
    height: 9,
    durationSeconds: 1.5,
    previewUrl: expect.stringMatching(/^\/samples\/[0-9a-f]{32}\.png$/),
  })
  expect(model.sampleFiles.size).toBe(1)
})

test('files in the input are embedded, so that everyone who sends it gets the same; references are left as they are', () => {
  const images = ['cat.png', 'https://media.example/dog.png', 'file_00000000000000000000000000']
  const { samples } = load({ samples: [{ ...sample, input: { prompt: 'x', images } }] })
  expect(samples[0]?.input).toEqual({
    prompt: 'x',
    images: [`data:image/png;base64,${picture.toString('base64')}`, ...images.slice(1)],
  })
})

test('the sounds of options are served, too, and the document of the model has their URLs', () => {
  const model = load(withOptions({ ann: 'ann.mp3', bob: 'https://media.example/bob.mp3' }))
  const [name] = model.sampleFiles.keys()
  const document = JSON.stringify(model.openapi)
  expect(document).toContain(`"x-enum-samples":{"ann":"/samples/${name}","bob":"https://media.example/bob.mp3"}`)
  expect(document).toContain('"x-enum-titles":{"ann":"Ann"}')
  expect(basename(model.sampleFiles.get(name as string) as string)).toBe('ann.mp3')
  expect(model.checkInput({ prompt: 'x', voice: 'ann' }).ok).toBe(true)
})

describe('a wrong sample is refused with model and field', () => {
  test.each<[string, object, string]>([
    ['no input', { samples: [{ file: 'cat.png' }] }, 'samples.0.input is required'],
    ['a misspelt field', { samples: [{ ...sample, prewiew: 'x' }] }, 'samples.0.prewiew is not a known field'],
    [
      'a missing file',
      { samples: [sample, { ...sample, file: 'dog.png' }] },
      `samples.1.file names ${folder}/dog.png, which cannot be read (ENOENT)`,
    ],
    ['a folder', { samples: [{ ...sample, file: `../${basename(folder)}` }] }, 'samples.0.file names "../'],
    [
      'a file that is no media',
      { samples: [{ ...sample, file: 'catalog.yaml' }] },
      'samples.0.file names "catalog.yaml", whose name must end with one of .png, .jpg',
    ],
    [
      'a file that is too large',
      { samples: [{ ...sample, file: 'huge.mp4' }] },
      'samples.0.file is larger than 20480 kB',
    ],
    ['an http: URL', { samples: [{ ...sample, file: 'http://media.example/a.png' }] }, 'samples.0.file names '],
    [
      'an input that the model refuses',
      { samples: [{ ...sample, input: { prompt: 'a large cat' } }] },
      'samples.0.input.prompt must have at most 9 characters',
    ],
    [
      'a picture that is too large to embed',
      { samples: [{ ...sample, input: { prompt: 'x', images: ['big.png'] } }] },
      'samples.0.input.images.0 is larger than 64 kB',
    ],
    [
      'a picture that is none',
      { samples: [{ ...sample, input: { prompt: 'x', images: ['cat'] } }] },
      'samples.0.input.images.0 is neither',
    ],
    [
      'a missing sound of an option',
      withOptions({ ann: 'anna.mp3' }),
      `input.properties.voice.x-enum-samples.ann names ${folder}/anna.mp3`,
    ],
    [
      'a sound that is no name',
      withOptions({ ann: 5 }),
      'input.properties.voice.x-enum-samples.ann must be the name of a file',
    ],
  ])('%s', (_what, written, expected) => {
    expect(() => load(written)).toThrow(`model "acme/paint": ${expected}`)
  })
})
