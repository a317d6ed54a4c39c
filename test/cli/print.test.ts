// Tables on terminals of different widths.
import { afterEach, expect, test, vi } from 'vitest'
import { print } from '@mediagen/terminal/print.ts'

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
