// The pictures that a page gets with one request: which of them, and how large.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readCovers } from '../../src/catalog/covers.ts'
import { loadCatalog } from '../../src/catalog/load.ts'
import type { Model } from '../../src/catalog/model.ts'
import { kinds } from './kinds.ts'
import { paintEntry } from './paint-entry.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-covers-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Models by the pictures that their samples name; each picture has its own content. */
function load(models: Readonly<Record<string, readonly { file: string; preview?: string; product?: string }[]>>) {
  const entries = Object.entries(models).map(([id, files]) => ({
    ...paintEntry,
    id,
    ...(files[0]?.product && { product: files[0].product, mode: basename(id) }),
    samples: files.map(({ file, preview }) => ({ file, ...(preview && { preview }), input: { prompt: 'x' } })),
  }))
  const file = join(folder, 'catalog.yaml')
  writeFileSync(file, JSON.stringify({ models: entries }))
  return loadCatalog([file], kinds)
}

function write(name: string, bytes: number): { file: string } {
  writeFileSync(join(folder, name), name.padEnd(bytes, '.'))
  return { file: name }
}

/** The names of files that covers are of, by those under which they are served. */
function namesIn(models: readonly Model[], covers: Readonly<Record<string, string>>): string[] {
  const paths = new Map(models.flatMap(({ sampleFiles }) => [...sampleFiles]))
  return Object.keys(covers).map((name) => basename(paths.get(name) ?? ''))
}

test('each product has its first small picture, in full', async () => {
  const models = load({
    'a/one': [write('one.png', 10), write('two.png', 10)],
    'a/film': [{ ...write('film.mp4', 10), preview: write('film.webp', 10).file }],
    'a/sound-without-picture': [write('sound.mp3', 10)],
    'a/large': [write('large.png', 8193), write('small.png', 10)],
    'a/elsewhere': [{ file: 'https://media.example/a.png' }],
    'p/first': [{ ...write('first.png', 8192), product: 'p' }],
    'p/second': [{ ...write('second.png', 10), product: 'p' }],
    'a/none': [],
    'a/gone': [write('gone.png', 10)],
  })
  rmSync(join(folder, 'gone.png'))
  const covers = await readCovers(models)
  expect(namesIn(models, covers)).toEqual(['one.png', 'film.webp', 'first.png'])
  const [one, film] = Object.values(covers)
  expect(one).toBe(`data:image/png;base64,${Buffer.from('one.png...').toString('base64')}`)
  expect(film).toMatch(/^data:image\/webp;base64,/)
})

test('all together they have at most 56 kB: those that are first in the catalog', async () => {
  const files = Array.from({ length: 9 }, (_, index) => write(`picture-${index}.png`, 8000))
  const models = load(Object.fromEntries(files.map((file, index) => [`a/${index}`, [file]])))
  expect(namesIn(models, await readCovers(models))).toEqual(files.slice(0, 7).map(({ file }) => file))
})
