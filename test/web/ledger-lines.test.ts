// The ledger in plain lines, and as CSV.
import { expect, test } from 'vitest'
import { formatSigned, toCsv, toLines } from '../../web/ledger-lines.ts'
import type { EntryRecord } from '../../web/records.ts'

let number = 0
const entry = (
  kind: EntryRecord['kind'],
  credits: number,
  job_id: string | null = null,
  note: string | null = null,
) => ({
  entry_id: `e${(number += 1)}`,
  kind,
  credits,
  job_id,
  available_after: 0,
  held_after: 0,
  note,
  created_at: '2026-11-22T10:00:00.000Z',
  key_id: null,
  key_name: null,
  reference: null,
  hash: null,
  previous_hash: null,
})

test('a generation is one line with what it took in the end', () => {
  const lines = toLines([
    entry('hold', 9, 'job_3'),
    entry('release', 7, 'job_2'),
    entry('release', 4, 'job_1'),
    entry('charge', 6, 'job_1'),
    entry('hold', 7, 'job_2'),
    entry('hold', 10, 'job_1'),
    entry('adjust', -5, null, 'a mistake'),
    entry('grant', 100),
  ])
  expect(lines.map(({ kind, jobId, credits, isOpen }) => [kind, jobId, credits, isOpen])).toEqual([
    ['generation', 'job_3', -9, true],
    ['generation', 'job_2', 0, false],
    ['generation', 'job_1', -6, false],
    ['adjust', null, -5, false],
    ['grant', null, 100, false],
  ])
  expect([1000, -3, 0].map(formatSigned)).toEqual(['+1,000', '−3', '0'])
})

test('a note in CSV can neither break its line nor run as a formula', () => {
  const [, row] = toCsv([entry('grant', 5, null, '=HYPERLINK("http://x"),\n')]).split(/\r\n/)
  expect(row).toBe(`2026-11-22T10:00:00.000Z,grant,5,0,0,,"'=HYPERLINK(""http://x""),\n"`)
})
