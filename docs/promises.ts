// The promises of docs/contract.md, by their numbers, and the tests that cite them.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

interface ContractPromise {
  readonly number: number
  /** How it begins, without Markdown. */
  readonly text: string
}

/** What cites a promise: the first comment of a file, titles of its tests, or both. */
export interface Citation {
  readonly number: number
  /** The path from the root of the repository. */
  readonly file: string
  readonly titles: number
}

/** A number stands behind the sentences that it is of, and in a table in the first cell of its row. */
export function readPromises(): ContractPromise[] {
  return readContract()
    .replaceAll(/^```[^]*?^```$/gm, '')
    .split('\n')
    .flatMap((line) => {
      const parts = line.split(/\(P(\d+)\)/)
      const isRow = line.startsWith('|')
      return parts.flatMap((part, i) => {
        const number = Number(parts[i + 1])
        if (i % 2 === 1 || i === parts.length - 1) return []
        const row = parts.filter((_, n) => n % 2 === 0).join('')
        return [{ number, text: toFirstWords(isRow ? row.replaceAll(/ *\|/g, ',') : part) }]
      })
    })
}

/** The numbers of promises that are no longer given. */
export function readWithdrawn(): number[] {
  const [, list = ''] = /Withdrawn numbers: ([^.]*)\./.exec(readContract()) ?? []
  return findNumbers(list)
}

export function readCitations(): Citation[] {
  return globSync('{test,packages/*/test}/**/*.ts', { cwd: root, exclude: (path) => path.includes('node_modules') })
    .toSorted()
    .flatMap((file) => {
      const source = readFileSync(join(root, file), 'utf8')
      if (!file.endsWith('.test.ts') && !/\btest(\.\w+)?\(/.test(source)) return []
      const [head = ''] = /^(?:\/\/.*\n)*/.exec(source) ?? []
      const titles = [...source.matchAll(title)].map(([, , text = '']) => findNumbers(text))
      return [...new Set([...findNumbers(head), ...titles.flat()])].map((number) => ({
        number,
        file,
        titles: titles.filter((numbers) => numbers.includes(number)).length,
      }))
    })
}

// A text that is followed by a function, perhaps with options in between.
const title = /(['"`])((?:\\.|(?!\1)[^\\\n])*)\1,\s*(?:\{[^}]*\},\s*)?(?:async\s*)?\(/g

function findNumbers(text: string): number[] {
  return [...text.matchAll(/\bP(\d+)\b/g)].map(([, number]) => Number(number))
}

function readContract(): string {
  return readFileSync(join(root, 'docs/contract.md'), 'utf8')
}

const mostWords = 12

function toFirstWords(markdown: string): string {
  const words = markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replace(/^[\s,;:.-]+/, '')
    .replace(/^and /, '')
    .replace(/[\s,;:.]+$/, '')
    .split(/\s+/)
  return words.slice(0, mostWords).join(' ') + (words.length > mostWords ? ' …' : '')
}
