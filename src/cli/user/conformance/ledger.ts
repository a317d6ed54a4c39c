// The ledger as it is read again and again.
import { isDeepStrictEqual } from 'node:util'
import type { Entry, Page, Wallet } from '@mediagen/client/client.ts'
import type { Probe } from './probe.ts'

const pageSize = 500
// A longer ledger is read from its newest entry back to here.
const mostEntries = 10_000
// Entries that are written while the wallet is read make the two incomparable.
const stableTries = 5

/** All that was seen of a ledger. */
export interface Ledger {
  /** Reads the wallet and what is new. @returns the id of the newest entry */
  look(): Promise<string | undefined>
  /** Newer entries, newest first. */
  since(entryId: string | undefined): readonly Entry[]
  /** Reads all entries again. */
  reread(): Promise<void>
  /** Newest first. */
  readonly entries: readonly Entry[]
  readonly available: number
  /** Whether the first entry of the account is among them. */
  readonly isWhole: boolean
  /** How often wallet and entries were compared, and what was wrong with either. */
  readonly seen: { comparisons: number; readonly unbalanced: string[]; readonly rewritten: string[] }
}

/** Opens the ledger of the account of the key, and reads it. */
export async function openLedger({ get }: Probe): Promise<Ledger> {
  let wallet: Wallet = { available: 0, held: 0 }
  const seen: Ledger['seen'] = { comparisons: 0, unbalanced: [], rewritten: [] }
  const readPage = (offset = 0) => get<Page<Entry>>(`/v1/wallet/entries?limit=${pageSize}&offset=${offset}`)

  async function readAll(most: number): Promise<{ entries: readonly Entry[]; isWhole: boolean }> {
    const found = new Map<string, Entry>()
    for (let offset = 0; ; offset += pageSize) {
      const page = await readPage(offset)
      // An entry that is written meanwhile moves the others, so one may come twice.
      for (const entry of page.data) found.set(entry.entry_id, entry)
      if (!page.has_more || offset + pageSize >= most) return { entries: [...found.values()], isWhole: !page.has_more }
    }
  }

  let { entries, isWhole } = await readAll(mostEntries)

  /** Compares what is read with what is known, and adds what is new. */
  function add(read: readonly Entry[]): void {
    const newest = entries[0]?.entry_id
    const start = newest === undefined ? read.length : read.findIndex(({ entry_id: id }) => id === newest)
    if (start < 0) seen.rewritten.push(`no ${newest}`)
    else
      for (const [index, entry] of read.slice(start).entries())
        if (entries[index] && !isDeepStrictEqual(withoutNames(entry), withoutNames(entries[index])))
          seen.rewritten.push(`${JSON.stringify(entry)} in place of ${JSON.stringify(entries[index])}`)
    entries = [...read.slice(0, Math.max(start, 0)), ...entries]
  }

  async function look(): Promise<string | undefined> {
    for (let tries = 1; tries <= stableTries; tries += 1) {
      add((await readPage()).data)
      wallet = await get<Wallet>('/v1/wallet')
      const [newest] = (await readPage()).data
      if (newest?.entry_id !== entries[0]?.entry_id) continue
      seen.comparisons += 1
      const { available_after: available = 0, held_after: held = 0 } = newest ?? {}
      if (wallet.available !== available || wallet.held !== held)
        seen.unbalanced.push(`${JSON.stringify(wallet)} after ${JSON.stringify(newest)}`)
      break
    }
    return entries[0]?.entry_id
  }

  return {
    look,
    since(id) {
      const index = entries.findIndex(({ entry_id }) => entry_id === id)
      return entries.slice(0, index < 0 ? undefined : index)
    },
    async reread() {
      await look()
      add((await readAll(entries.length)).entries)
    },
    get entries() {
      return entries
    },
    get available() {
      return wallet.available
    },
    isWhole,
    seen,
  }
}

/** Names of keys may change. */
function withoutNames({ key_id: _id, key_name: _name, ...entry }: Entry): object {
  return entry
}
