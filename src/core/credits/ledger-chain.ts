// The chain over the entries of each account: the hash of an entry covers it and the hash of the one before it, so that no entry can
// be changed, left out or moved unless all later hashes change, too. docs/check-your-ledger.md tells customers how to compute it.
import { createHash, hash } from 'node:crypto'
import { toTimestampText } from '../clock.ts'
import type { LedgerEntry } from './ledger.ts'

/** What the hash of an entry covers, apart from the hash before it. */
export type ChainedEntry = Pick<
  LedgerEntry,
  | 'accountId'
  | 'entryId'
  | 'kind'
  | 'jobId'
  | 'credits'
  | 'availableAfter'
  | 'heldAfter'
  | 'reference'
  | 'note'
  | 'createdAtMs'
>

/**
 * The SHA-256 of an entry, in hexadecimal. It is over lines, because every language can write them: of the values only the note may
 * have a line end, and it comes last. A missing job or reference is an empty line, a missing note is none.
 * @param previous the hash of the entry before it; null if there is none, or if that was written before there were chains
 */
export function hashEntry(previous: string | null, entry: ChainedEntry): string {
  const { accountId, entryId, kind, jobId, credits, availableAfter, heldAfter, reference, note, createdAtMs } = entry
  const time = toTimestampText(createdAtMs)
  const lines = `mediagen-ledger-v1\n${previous ?? ''}\n${accountId}\n${entryId}\n${time}\n${kind}\n${credits}\n${availableAfter}\n${heldAfter}\n${jobId ?? ''}\n${reference ?? ''}`
  return hash('sha256', note === null ? lines : `${lines}\n${note}`)
}

/** The last entries of all accounts in one hash. */
export interface LedgerRoot {
  /** SHA-256, in hexadecimal. */
  readonly root: string
  readonly accounts: number
}

/** Computes the root, over a line for each account, in the order of their ids: its id, a space, and the hash of its last entry, if any. */
export function createLedgerRoot(): { add(accountId: string, head: string | null): void; digest(): LedgerRoot } {
  const sum = createHash('sha256').update('mediagen-ledger-root-v1\n')
  let accounts = 0
  return {
    add(accountId, head) {
      accounts += 1
      sum.update(`${accountId} ${head ?? ''}\n`)
    },
    digest: () => ({ root: sum.digest('hex'), accounts }),
  }
}
