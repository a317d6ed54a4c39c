// The gallery shows every choice that a model offers, and makes again only what has changed.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { completeInput, entries } from '../catalog/entries.ts'
import { writePage } from '../gallery/page.ts'
import { sampleModel } from '../gallery/samples.ts'
import { digestSources, listSources } from '../gallery/sources.ts'

const picture = 'data:image/png;base64,AAAA'

test('every value of every enumeration has a sample, and each is a valid input', () => {
  for (const model of entries) {
    const samples = sampleModel(model, [picture, picture])
    for (const { title, input } of samples)
      expect(() => completeInput(model, input), `${model.id} ${title}`).not.toThrow()
    const properties = Object.entries(model.input['properties'] as Record<string, { enum?: string[] }>)
    for (const [name, { enum: choices }] of properties) {
      if (!choices || name === 'fps') continue
      const shown = samples.filter(({ group }) => group === name).map(({ input }) => input[name])
      expect(shown, `${model.id} ${name}`).toEqual(choices.filter((choice) => choice !== 'auto'))
    }
  }
})

test('every operation of the edit model has a sample of its own', () => {
  const edit = entries.find(({ id }) => id === 'builtin/image/art/edit')
  const titles = edit ? sampleModel(edit, [picture]).map(({ title }) => title) : []
  for (const operation of 'crop resize rotate flip blur sharpen grayscale tint adjust text'.split(' '))
    expect(
      titles.some((title) => title.startsWith(`${operation} `)),
      operation,
    ).toBe(true)
})

test('the digest of a module changes with what it imports, however far away, and with nothing else', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gallery-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text)
  await write(
    'a.ts',
    "import { b } from './b.ts'\nimport sharp from 'sharp'\nimport type {\n  T,\n} from './other.ts'\n",
  )
  await write('b.ts', "export const b = async () => (await import('./c.ts')).c\n")
  await write('c.ts', "import './a.ts'\nexport const c = 1\n")
  await write('other.ts', '')
  const digest = (): string => digestSources(join(folder, 'a.ts'))
  const before = digest()
  expect([...listSources(join(folder, 'a.ts'))]).toHaveLength(3)
  await write('other.ts', 'changed')
  expect(digest()).toBe(before)
  await write('c.ts', "import './a.ts'\nexport const c = 2\n")
  expect(digest()).not.toBe(before)
})

test('what a page says is text, whatever is in it', () => {
  const card = { title: '<b>&"', file: null, drawing: null, note: '<script>', failed: true }
  const page = writePage(
    [{ id: 'a/b', name: '<i>', description: '&', groups: [{ name: 'style', cards: [card] }] }],
    '<u>',
  )
  expect(page).toContain('&#60;b&#62;&#38;&#34;')
  expect(page).not.toMatch(/<script><|<u>|<i>|<b><b>/)
})
