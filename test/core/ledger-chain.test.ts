// The hash of an entry is over the lines that docs/check-your-ledger.md names, and the root over a line for each account. The expected
// values are those of sha256sum.
import { expect, test } from 'vitest'
import { type ChainedEntry, createLedgerRoot, hashEntry } from '../../src/core/credits/ledger-chain.ts'

const entry: ChainedEntry = {
  accountId: 'acct_a',
  entryId: 'entry_b',
  kind: 'adjust',
  jobId: null,
  credits: -7,
  availableAfter: 3,
  heldAfter: 4,
  reference: null,
  note: 'ein Vermerk\n写',
  createdAtMs: 1_795_815_244_007,
}

test('P290: a hash is over the lines of the entry and the hash before it', () => {
  expect(hashEntry('ab'.repeat(32), entry)).toBe('311ceb74489a299fbff691fab52decbb4d15646437b314be61af74b9a1bf658c')
  expect(hashEntry(null, { ...entry, kind: 'hold', credits: 7, jobId: 'job_c', note: null })).toBe(
    'd2766aa194ec70c92652bdc1f7ec2809267148121b7326c5a89ac36aa0e21419',
  )
  const paid = { ...entry, kind: 'grant', credits: 7, reference: 'in_1', note: null } as const
  expect(hashEntry(null, paid)).toBe('98b16a3e52134be4af5e4baab3730169d84500ce792a7d6230645adb26f6837f')
})

test('a missing note is not an empty one', () => {
  expect(hashEntry(null, { ...entry, note: '' })).not.toBe(hashEntry(null, { ...entry, note: null }))
})

test('P292: the root is over a line for each account', () => {
  const root = createLedgerRoot()
  root.add('acct_a', 'ab'.repeat(32))
  root.add('acct_b', null)
  expect(root.digest()).toEqual({
    root: '0a9e03f716fa233b0f4cd5bd9147bed9a98b3462e655067ce7b897c13153782e',
    accounts: 2,
  })
})
