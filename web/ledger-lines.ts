// The ledger in plain lines: one for each generation, grant and adjustment, with what it did to the credits that one may spend.
import { toTable } from './csv.ts'
import type { EntryRecord } from './records.ts'

/** A line; the entries of one generation are one line. */
export interface LedgerLine {
  readonly key: string
  readonly jobId: string | null
  readonly kind: 'generation' | 'grant' | 'adjust'
  /** When it last changed. */
  readonly at: string
  /** Signed: a generation takes what it holds, and gives back what is returned. */
  readonly credits: number
  /** Whether its hold is still open. */
  readonly isOpen: boolean
  readonly note: string | null
}

/** What an entry did to the available credits. */
function effectOf({ kind, credits }: EntryRecord): number {
  if (kind === 'hold') return -credits
  // The hold has taken them already.
  return kind === 'charge' ? 0 : credits
}

/** The lines of entries that are sorted newest first. */
export function toLines(entries: readonly EntryRecord[]): LedgerLine[] {
  const groups = Map.groupBy(entries, ({ job_id, entry_id }) => job_id ?? entry_id)
  return [...groups].flatMap(([key, [newest, ...older]]) => {
    if (!newest) return []
    const all = [newest, ...older]
    return {
      key,
      jobId: newest.job_id,
      kind: newest.job_id !== null ? 'generation' : newest.kind === 'adjust' ? 'adjust' : 'grant',
      at: newest.created_at,
      credits: all.reduce((sum, entry) => sum + effectOf(entry), 0),
      isOpen: newest.kind === 'hold',
      note: newest.note,
    }
  })
}

/** "+1,000", "−3" and "0". */
export function formatSigned(credits: number): string {
  const words = Math.abs(credits).toLocaleString('en-US')
  return credits > 0 ? `+${words}` : credits < 0 ? `−${words}` : words
}

/** The entries as CSV, for spreadsheets and accounting. */
export function toCsv(entries: readonly EntryRecord[]): string {
  const head = ['time', 'kind', 'credits', 'available_after', 'held_after', 'job_id', 'note']
  const rows = entries.map((entry) => [
    entry.created_at,
    entry.kind,
    effectOf(entry),
    entry.available_after,
    entry.held_after,
    entry.job_id,
    entry.note,
  ])
  return toTable([head, ...rows])
}
