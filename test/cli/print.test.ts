// Tables on terminals of different widths.
import { afterEach, expect, test, vi } from 'vitest'
import { print, say } from '../../src/cli/user/print.ts'
import { createProgress } from '../../src/cli/user/progress.ts'

const { isTTY, columns } = process.stdout
afterEach(() => {
  Object.assign(process.stdout, { isTTY, columns })
  vi.restoreAllMocks()
})

function printAt(width: number): string[] {
  Object.assign(process.stdout, { isTTY: true, columns: width })
  let text = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += String(chunk)
    return true
  })
  const record = { job_id: 'job_01m81qyjj0e009ymem426nrcj8', status: 'succeeded', prompt: 'a walrus in the snow', n: 1 }
  print([record])
  vi.restoreAllMocks()
  return text.trimEnd().split('\n')
}

test('what is too wide is cut, the widest column first, and never the id', () => {
  expect(printAt(200)).toEqual([
    'job_id                          status     prompt                n',
    'job_01m81qyjj0e009ymem426nrcj8  succeeded  a walrus in the snow  1',
  ])
  expect(printAt(60)[1]).toBe('job_01m81qyjj0e009ymem426nrcj8  succeeded  a walrus in t…  1')
})

test('columns that do not fit at all are named', () => {
  expect(printAt(44)).toEqual([
    'job_id                          status',
    'job_01m81qyjj0e009ymem426nrcj8  succeeded',
    '(--json prints prompt, n, too)',
  ])
  expect(printAt(20)).toEqual(['job_id', 'job_01m81qyjj0e009ymem426nrcj8', '(--json prints status, prompt, n, too)'])
})

const hostile = 'a\u001B[2J\u0007\r\nwh_1\tb\u007F\u009B\u2028\u202E\u2066\u200F\u061Cz'
const harmless = 'a\\u001b[2J\\u0007\\r\\nwh_1\\tb\\u007f\\u009b\\u2028\\u202e\\u2066\\u200f\\u061cz'

/** What a call writes to standard output. */
function written(call: () => void): string {
  let text = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += String(chunk)
    return true
  })
  call()
  vi.restoreAllMocks()
  return text
}

test('texts of others cannot act on a terminal: in a table, in a record, in a list within it', () => {
  Object.assign(process.stdout, { isTTY: false })
  expect(written(() => print([{ id: 1, description: hostile }]))).toContain(`1   ${harmless}\n`)
  expect(written(() => print({ id: 1, error: hostile }))).toBe(`id     1\nerror  ${harmless}\n`)
  expect(written(() => print({ runs: [{ provider: hostile }, hostile] }))).toBe(
    `runs  provider=${harmless}, ${harmless}\n`,
  )
  expect(written(() => say(`one\n${hostile}\n`)).split('\n')).toHaveLength(4)
  expect(written(() => say(hostile))).not.toMatch(/[^\P{Cc}\n]|\u202E/u)
  const job = { job_id: 'job_1', status: hostile } as never
  expect(written(() => createProgress(process.stdout).show(job))).toBe(`job_1 ${harmless}\n`)
})

test('JSON is what it was', () => {
  expect(JSON.parse(written(() => print({ text: hostile }, true)))).toEqual({ text: hostile })
})
