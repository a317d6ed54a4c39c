// What the pages say of the code is what the code says.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describeLimits } from '../docs/make.ts'
import { limits } from '../src/limits.ts'

/** Text without the spaces and dashes that only align a table. */
function withoutAlignment(page: string): string {
  return page.replaceAll(/-{3,}/g, '---').replaceAll(/ +/g, ' ')
}

test('docs/limits.md is what `npm run docs` makes of the code', () => {
  const page = readFileSync(join(import.meta.dirname, '../docs/limits.md'), 'utf8')
  expect(withoutAlignment(page)).toBe(withoutAlignment(describeLimits()))
})

test('every bound has a test that names it', () => {
  const named = new Set(
    readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts'))
      .flatMap((file) => [...readFileSync(join(import.meta.dirname, file), 'utf8').matchAll(/MEDIAGEN_[A-Z_]+/g)])
      .map(([name]) => name),
  )
  const untested = Object.values(limits).filter(({ env }) => !named.has(env))
  expect(untested.map(({ env }) => env)).toEqual([])
})
