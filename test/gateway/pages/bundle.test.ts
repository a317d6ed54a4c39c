// A bundle does what its modules do, and holds nothing that a browser does not need.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { bundle } from '../../../src/gateway/pages/bundle.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-bundle-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Writes files, and bundles those that are named. */
function bundleFiles(files: Readonly<Record<string, string>>, ...entries: string[]) {
  for (const [name, source] of Object.entries(files)) writeFileSync(join(folder, name), source)
  return bundle(folder, entries)
}

/** What a script leaves in `said`, which it knows as a variable. */
function run(script = ''): unknown[] {
  const said: unknown[] = []
  // oxlint-disable-next-line typescript/no-implied-eval, eslint/no-new-func -- running the bundle is what is tested.
  new Function('said', `'use strict';${script}`)(said)
  return said
}

test('each entry becomes one script of all that it imports, without comments and types', async () => {
  const files = {
    'main.ts': `
      // a comment
      import { type Shape, area as sizeOf } from './shape.ts'
      import { Square } from './square.ts'
      const one: Shape = { side: 2 }
      said.push(sizeOf(one), new Square(3).area, \`a
        text // kept\`)`,
    'docs.ts': `import { area } from './shape.ts'\nsaid.push(area({ side: 1 }))`,
    'shape.ts': `
      said.push('shape')
      export interface Shape { readonly side: number }
      export function area({ side }: Shape): number { return side ** 2 }`,
    'square.ts': `
      import { area } from './shape.ts'
      export class Square { readonly #side: number; constructor(side: number) { this.#side = side } get area() { return area({ side: this.#side }) } }`,
  }
  const scripts = await bundleFiles(files, 'main.ts', 'docs.ts')
  expect([...scripts.keys()].toSorted()).toEqual(['docs', 'main'])
  expect(run(scripts.get('main'))).toEqual(['shape', 4, 9, 'a\n        text // kept'])
  expect(run(scripts.get('docs'))).toEqual(['shape', 1])
  expect(scripts.get('main')).not.toMatch(/a comment|: number|import|export/)
})

test('the same modules make the same script, so that browsers of several servers keep it', async () => {
  const first = await bundle(folder, ['main.ts'])
  expect(await bundle(folder, ['main.ts'])).toEqual(first)
})

test.each([
  ['an import that is not there', { 'a.ts': `import { a } from './nowhere.ts'\na()` }, /a\.ts:1:\d+: .*nowhere\.ts/],
  ['what is no TypeScript', { 'd.ts': 'const = 1' }, /d\.ts:1:6: /],
])('%s is named; the next bundle is made all the same', async (_what, files, message) => {
  await expect(bundleFiles(files as unknown as Record<string, string>, Object.keys(files)[0] ?? '')).rejects.toThrow(
    message,
  )
  expect(run((await bundle(folder, ['docs.ts'])).get('docs'))).toEqual(['shape', 1])
})
