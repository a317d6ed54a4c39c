// A bundle does what its modules do, and holds nothing that a browser does not need.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { bundle } from '../src/bundle.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-bundle-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Bundles files, the first of which is the entry. */
async function bundleFiles(files: Readonly<Record<string, string>>): Promise<string> {
  for (const [name, source] of Object.entries(files)) writeFileSync(join(folder, name), source)
  return bundle(join(folder, Object.keys(files)[0] ?? ''))
}

/** What a script leaves in `said`, which it knows as a variable. */
function run(script: string): unknown[] {
  const said: unknown[] = []
  // oxlint-disable-next-line typescript/no-implied-eval, eslint/no-new-func -- running the bundle is what is tested.
  new Function('said', `'use strict';${script}`)(said)
  return said
}

test('modules run once each, in the order of their imports, and see what they import by any name', async () => {
  const script = await bundleFiles({
    'main.ts': `
      import { type Shape, area as sizeOf } from './shape.ts'
      import './greeting.ts'
      import { again, unit, Square } from './again.ts'
      const one: Shape = { side: 2 }
      said.push(sizeOf(one), again(), unit, new Square(3).area)`,
    'shape.ts': `
      said.push('shape')
      export interface Shape { readonly side: number }
      export function area({ side }: Shape): number { return side ** 2 }
      export const unit = 1, other = 2
      export class Square { readonly #side: number; constructor(side: number) { this.#side = side } get area() { return area({ side: this.#side }) } }`,
    'greeting.ts': `import { other } from './shape.ts'\nsaid.push('greeting', other)`,
    'again.ts': `
      import { area } from './shape.ts'
      export * from './shape.ts'
      const hidden = () => area({ side: 5 })
      export { hidden as again }
      export { unit as same } from './shape.ts'`,
  })
  expect(run(script)).toEqual(['shape', 'greeting', 2, 4, 25, 1, 9])
})

test('comments, types and indentation go; texts, expressions and line ends stay', async () => {
  const script = await bundleFiles({
    'main.ts': `
      // a comment
      /** another */
      const pattern = /\\/\\/ (no) comment/g // but this is
      said.push(\`a
        template \${ /* inner */ [1, 2].map((n: number): number => n + 1) } // kept\`, pattern.source)
      const returns = () => {
        return
        1
      }
      said.push(returns())
      const after = 1
      ;[after].forEach((n) => said.push(n))`,
  })
  expect(run(script)).toEqual(['a\n        template 2,3 // kept', String.raw`\/\/ (no) comment`, undefined, 1])
  expect(script).not.toMatch(/a comment|another|but this|inner|: number/)
})

test.each([
  ['a circle', { 'a.ts': `import './b.ts'`, 'b.ts': `import './a.ts'` }, /a\.ts imports itself in a circle/],
  ['a default export', { 'c.ts': 'export default 1' }, /c\.ts: this ExportDefaultDeclaration cannot be bundled/],
  ['a namespace', { 'd.ts': `import * as e from './e.ts'\nsaid.push(e)`, 'e.ts': '' }, /d\.ts: this ImportDeclaration/],
  ['an export that changes', { 'f.ts': 'export let n = 1' }, /f\.ts: this ExportNamedDeclaration/],
  ['what is not there', { 'g.ts': `import { a } from './nowhere.ts'\na()` }, /nowhere\.ts/],
])('%s is refused by name', async (_what, files, message) => {
  await expect(bundleFiles(files as unknown as Record<string, string>)).rejects.toThrow(message)
})
