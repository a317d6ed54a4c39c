// What the pages say about the code is what the code says.
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Code } from '@connectrpc/connect'
import { describe, expect, test } from 'vitest'
import { madePages, readOpenapi } from '../docs/make.ts'
import { readCitations, readPromises, readWithdrawn } from '../docs/promises.ts'
import { parts } from '../oxlint.config.ts'
import { isErrorCode } from '../src/core/errors.ts'
import { problemKinds } from '../src/gateway/problems/problem-kinds.ts'
import { limits } from '../src/limits.ts'
import { grpcCodes } from '../src/rpc/errors.ts'

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

test.each(Object.entries(madePages))('docs/%s is what `npm run docs` makes of the code', async (file, describePage) => {
  expect(withoutAlignment(readPage(`docs/${file}`))).toBe(withoutAlignment(await describePage()))
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

test('what pages show as JSON is JSON', () => {
  const examples = pages.flatMap((page) =>
    [...readPage(page).matchAll(/^ *```json\n(.*?)^ *```/gms)].map(([, example = '']) => ({ page, example })),
  )
  expect(examples.length).toBeGreaterThan(5)
  for (const { page, example } of examples) expect(() => JSON.parse(example), page).not.toThrow()
})

test('comments cite only documents of this repository', () => {
  const files = globSync('{src,proto,web,test,bench,packages}/**/*.{ts,proto}', {
    cwd: root,
    exclude: (path) => path.includes('node_modules'),
  })
  const foreign = files.flatMap((file) =>
    [...readPage(file).matchAll(/^ *(?:\/\/|\/?\*).*(?:\bissue \d|(?:interface|contract), sections? \d)/gim)]
      .filter(([line]) => !line.includes('docs/contract.md'))
      .map(([line]) => `${file}: ${line}`),
  )
  const missing = files.flatMap((file) =>
    [...readPage(file).matchAll(/\b(docs\/[\w/-]+\.md)/g)]
      .filter(([, page = '']) => !existsSync(join(root, page)))
      .map(([page]) => `${file}: ${page}`),
  )
  expect([...foreign, ...missing]).toEqual([])
})

test('the README has fewer than 250 lines', () => {
  expect(readPage('README.md').split('\n').length).toBeLessThan(250)
})

describe('ARCHITECTURE.md', () => {
  const page = readPage('ARCHITECTURE.md')

  test('has at most 1,000 words, the picture included', () => {
    const words = page.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word))
    expect(words.length).toBeLessThanOrEqual(1000)
  })

  test('has a row for each folder and file of src/', () => {
    const rows = page.slice(page.indexOf('| Folder'), page.indexOf('## Invariants'))
    const named = [...rows.matchAll(/`src\/([\w.-]+)\/?`/g)].map(([, name = '']) => name)
    expect(named.toSorted()).toEqual(readdirSync(join(root, 'src')).toSorted())
  })

  test('says of each part what the linter lets it import', () => {
    const rows = [...page.matchAll(/^\| `src\/([\w-]+)\/` +\| [^|]+ \| ([^|]*?) +\|$/gm)]
    const said = rows.map(([, part, imports]) => [part, imports])
    const expected = Object.entries(parts)
      .filter(([part]) => part !== 'cli' && part !== 'app')
      .map(([part, { imports }]) => [part, imports.join(', ').replaceAll('@mediagen/', '') || 'nothing of ours'])
    expect(Object.fromEntries(said.filter(([part]) => part !== 'app'))).toEqual(Object.fromEntries(expected))
  })

  test('names on the path of a start every code that POST /v1/generate answers with, and no other', async () => {
    const path = page.slice(page.indexOf('## The path of a start'), page.indexOf('## Why'))
    const named = new Set([...path.matchAll(/`([a-z]+(?:_[a-z]+)*)`/g)].map(([, code = '']) => code))
    expect([...named].filter((code) => !isErrorCode(code))).toEqual([])

    const { paths } = await readOpenapi()
    const documented = Object.values(paths['/v1/generate']?.['post']?.responses ?? {}).flatMap(({ description }) =>
      [...description.matchAll(/`(\w+)`/g)].map(([, code = '']) => code),
    )
    expect([...named].toSorted()).toEqual([...new Set(documented)].toSorted())
  })
})

describe('docs/decisions', () => {
  const decisions = readdirSync(join(root, 'docs/decisions')).filter((file) => file !== 'README.md')

  test('its README lists every page by its title', () => {
    const index = readPage('docs/decisions/README.md')
    const listed = [...index.matchAll(/^- (\[.*\]\(.*\))$/gm)].map(([, link = '']) => link)
    const titled = decisions.map((file) => {
      const [, title] = /^# (.*)$/m.exec(readPage(`docs/decisions/${file}`)) ?? []
      return `[${title}](${file})`
    })
    expect(listed.toSorted()).toEqual(titled.toSorted())
  })

  test.each(decisions.filter((file) => file !== 'libraries.md'))(
    '%s has the context, the decision and what would change it',
    (file) => {
      const headings = [...readPage(`docs/decisions/${file}`).matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
      expect(headings).toEqual(['Context', 'Decision', 'What would change our mind'])
    },
  )

  test('a page has fewer than 350 words, and all of them have at most 12,500', () => {
    const words = decisions.map((file) => readPage(`docs/decisions/${file}`).split(/\s+/).filter(Boolean).length)
    expect(decisions.filter((_, index) => (words[index] ?? 0) >= 350)).toEqual([])
    expect(words.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(12_500)
  })

  test('paths of the repository exist', () => {
    const missing = [...decisions.map((file) => `docs/decisions/${file}`), 'ARCHITECTURE.md'].flatMap((file) =>
      [...readPage(file).matchAll(/`((?:src|packages|test|bench|web|proto)\/[\w./-]*|[a-z]+\/[\w/-]+\.ts)`/g)]
        .filter(([, path = '']) => !existsSync(join(root, path)) && !existsSync(join(root, 'src', path)))
        .map(([path]) => `${file}: ${path}`),
    )
    expect(missing).toEqual([])
  })
})

test('docs/decisions/libraries.md has a line for each dependency', () => {
  const lines = readPage('docs/decisions/libraries.md').split('\n')
  const patterns = lines
    .filter((line) => line.startsWith('- '))
    .flatMap((line) => [...line.slice(0, line.indexOf(':')).matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
    .map((name) => new RegExp(`^${name.replaceAll('*', '.*')}$`))
  const packages = globSync(['package.json', 'packages/*/package.json', 'test/*/package.json'], { cwd: root })
  const names = packages.flatMap((path) => {
    const { dependencies = {}, devDependencies = {}, optionalDependencies = {} } = JSON.parse(readPage(path))
    return Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })
  })
  const unexplained = names.filter((name) => !name.startsWith('@mediagen/') && !patterns.some((p) => p.test(name)))
  const stale = patterns.filter((pattern) => !names.some((name) => pattern.test(name)))
  expect([unexplained, stale]).toEqual([[], []])
})

/** A code as the gRPC specification spells it. */
function toGrpcName(code: Code): string {
  return (Code[code] ?? '').replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase()
}

test("the contract's table of errors is the table of the code", () => {
  const rows = [...readPage('docs/contract.md').matchAll(/^\|[^|]+\| (\d{3}) +\| (`[^|]+`) +\| (\S+) +\|$/gm)]
  const listed = rows.flatMap(([, http = '', codes = '', grpc = '']) =>
    [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => `${code} ${http} ${grpc}`),
  )
  const expected = Object.entries(problemKinds).map(([code, { http }]) => {
    const grpc = toGrpcName(grpcCodes[code as keyof typeof grpcCodes])
    // A dash stands for what never happens over gRPC.
    const overRestOnly = `${code} ${http} –`
    return listed.includes(overRestOnly) ? overRestOnly : `${code} ${http} ${grpc}`
  })
  expect(listed.toSorted()).toEqual(expected.toSorted())
})

test("the contract's examples of records have the fields of the schemas, and no other", async () => {
  const { schemas } = (await readOpenapi()).components as { schemas: Record<string, { properties: object }> }
  const examples = [...readPage('docs/contract.md').matchAll(/^```json\n(.*?)^```/gms)].map(([, example = '']) =>
    Object.keys(JSON.parse(example)).toSorted(),
  )
  for (const name of ['Job', 'Reproduction', 'File', 'Entry', 'Key', 'Webhook', 'Delivery'])
    expect(examples, name).toContainEqual(Object.keys(schemas[name]?.properties ?? {}).toSorted())
})

describe('the promises of docs/contract.md', () => {
  const promises = readPromises()
  const citations = readCitations()

  test('numbers are unique and in one sequence without reuse', () => {
    const numbers = [...promises.map(({ number }) => number), ...readWithdrawn()]
    expect(numbers.toSorted((one, other) => one - other)).toEqual(numbers.map((_, i) => i + 1))
  })

  test('every promise of the contract has a test that cites it', () => {
    const cited = new Set(citations.map(({ number }) => number))
    const uncited = promises.filter(({ number }) => !cited.has(number))
    expect(uncited.map(({ number, text }) => `P${number} ${text}`)).toEqual([])
  })

  test('tests cite only promises that exist', () => {
    const known = new Set(promises.map(({ number }) => number))
    const unknown = citations.filter(({ number }) => !known.has(number))
    expect(unknown.map(({ number, file }) => `${file}: P${number}`)).toEqual([])
  })
})
