// What the pages say about the code is what the code says.
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { madePages } from '../docs/make.ts'
import { errorKinds } from '../src/core/errors.ts'
import { limits } from '../src/limits.ts'

const root = resolve(import.meta.dirname, '..')
const pages = globSync(['*.md', '{docs,bench,packages}/**/*.md'], {
  cwd: root,
  exclude: (path) => path.includes('node_modules'),
})

function readPage(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/** Text without the spaces and dashes that only align a table. */
function withoutAlignment(page: string): string {
  return page.replaceAll(/-{3,}/g, '---').replaceAll(/ +/g, ' ')
}

/** The anchor that GitHub gives a heading. */
function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

test.each(Object.entries(madePages))('docs/%s is what `npm run docs` makes of the code', (file, describePage) => {
  expect(withoutAlignment(readPage(`docs/${file}`))).toBe(withoutAlignment(describePage()))
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

describe('every link between pages leads somewhere', () => {
  test.each(pages)('%s', (path) => {
    const broken = [...readPage(path).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].filter(
      ([, target = '', anchor]) => {
        const file = target === '' ? path : join(dirname(path), target)
        try {
          const text = file.endsWith('.md') ? readPage(file) : ''
          if (!file.endsWith('.md')) readFileSync(join(root, file))
          const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => toAnchor(heading))
          return anchor !== undefined && !anchors.includes(anchor)
        } catch {
          return true
        }
      },
    )
    expect(broken.map(([link]) => link)).toEqual([])
  })
})

test('the README has fewer than 250 lines', () => {
  expect(readPage('README.md').split('\n').length).toBeLessThan(250)
})

test("the contract's table of errors is the table of the code", () => {
  const rows = [...readPage('docs/contract.md').matchAll(/^\|[^|]+\| (\d{3}) +\| (`[^|]+`) +\| (\S+) +\|$/gm)]
  const listed = rows.flatMap(([, http = '', codes = '', grpc = '']) =>
    [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => `${code} ${http} ${grpc}`),
  )
  const expected = Object.entries(errorKinds).map(([code, { http, grpc }]) => {
    // A dash stands for what never happens over gRPC.
    const overRestOnly = `${code} ${http} –`
    return listed.includes(overRestOnly) ? overRestOnly : `${code} ${http} ${grpc}`
  })
  expect(listed.toSorted()).toEqual(expected.toSorted())
})
