// The ledger as it is read again and again, and what must hold for its entries.
import { isDeepStrictEqual } from 'node:util'
import type { Entry, Page, Wallet } from '@mediagen/client/client.ts'
import { hashEntry } from '../../../core/credits/ledger-chain.ts'
import type { Probe } from './probe.ts'

const pageSize = 500
// A longer ledger is read from its newest entry back to here.
const mostEntries = 10_000
// Entries that are written while the wallet is read make the two incomparable.
const stableTries = 5

/** All that was seen of a ledger. */
export interface Ledger {
  /** Reads the wallet and what is new. @returns the id of the newest entry */
  look(): Promise<string | null>
  /** Entries that are newer, newest first. */
  since(entryId: string | null): readonly Entry[]
  /** Reads everything from the first entry seen on once more. */
  lookAgain(): Promise<void>
  /** Newest first. */
  entries(): readonly Entry[]
  wallet(): Wallet
  readonly seen: {
    /** Whether the first entry of the account is among them. */
    whole: boolean
    /** How often wallet and entries could be compared. */
    comparisons: number
    readonly unbalanced: string[]
    readonly rewritten: string[]
  }
}

/** Opens the ledger of the account of the key. */
export function openLedger({ send }: Pick<Probe, 'send'>): Ledger {
  let known: readonly Entry[] | null = null
  let last: Wallet = { available: 0, held: 0 }
  const seen: Ledger['seen'] = { whole: true, comparisons: 0, unbalanced: [], rewritten: [] }

  async function read<Body>(path: string): Promise<Body> {
    const { status, body } = await send<Body>(path)
    if (status !== 200) throw new Error(`GET ${path} answered HTTP ${status} ${body.code ?? ''}`)
    return body as Body
  }
  const readPage = (offset: number): Promise<Page<Entry>> =>
    read(`/v1/wallet/entries?limit=${pageSize}&offset=${offset}`)

  /** Reads until an entry that was known at the end, or so many. */
  async function readDown(count: number): Promise<{ entries: readonly Entry[]; more: boolean }> {
    const found = new Map<string, Entry>()
    for (let offset = 0; ; offset += pageSize) {
      const page = await readPage(offset)
      // An entry that is written meanwhile moves the others, so one may come twice.
      for (const entry of page.data) found.set(entry.entry_id, entry)
      if (!page.has_more || offset + pageSize >= count) return { entries: [...found.values()], more: page.has_more }
    }
  }

  /** Compares what is read with what is known, and adds what is new. */
  function add(read: readonly Entry[]): void {
    const [newest] = known ?? []
    const start = newest ? read.findIndex(({ entry_id }) => entry_id === newest.entry_id) : read.length
    if (start < 0) seen.rewritten.push(`${newest?.entry_id} is gone`)
    else if (newest)
      for (const [index, entry] of read.slice(start).entries()) {
        const before = known?.[index]
        if (before && !isDeepStrictEqual(withoutNames(entry), withoutNames(before)))
          seen.rewritten.push(`${JSON.stringify(entry)} where ${JSON.stringify(before)} was`)
      }
    known = [...read.slice(0, Math.max(start, 0)), ...(known ?? [])]
  }

  async function look(): Promise<string | null> {
    if (!known) {
      const first = await readDown(mostEntries)
      seen.whole = !first.more
      known = first.entries
    }
    for (let tries = 1; tries <= stableTries; tries += 1) {
      add((await readPage(0)).data)
      last = await read<Wallet>('/v1/wallet')
      const [newest] = (await readPage(0)).data
      if (newest?.entry_id !== known[0]?.entry_id) continue
      compare(last, newest)
      break
    }
    return known[0]?.entry_id ?? null
  }

  function compare({ available, held }: Wallet, newest: Entry | undefined): void {
    const { available_after: availableAfter = 0, held_after: heldAfter = 0 } = newest ?? {}
    seen.comparisons += 1
    if (available !== availableAfter || held !== heldAfter)
      seen.unbalanced.push(
        `a wallet of ${available} + ${held} held after ${newest?.entry_id}, which left ${availableAfter} + ${heldAfter} held`,
      )
  }

  return {
    look,
    since(id) {
      const index = known?.findIndex(({ entry_id }) => entry_id === id) ?? -1
      return (known ?? []).slice(0, index < 0 ? undefined : index)
    },
    async lookAgain() {
      await look()
      add((await readDown(known?.length ?? 0)).entries)
    },
    entries: () => known ?? [],
    wallet: () => last,
    seen,
  }
}

/** What of an entry is written once: names of keys may change, and newer servers may say more. */
function withoutNames({ key_id: _id, key_name: _name, ...entry }: Entry): object {
  return entry
}

/** The first entry that does not follow from the one before it, in words. @param entries newest first */
export function findBreak(entries: readonly Entry[], whole: boolean): string | null {
  const first = { available_after: 0, held_after: 0 }
  for (const [index, entry] of entries.entries()) {
    const before = entries[index + 1] ?? (whole ? first : null)
    if (!before) return null
    const { kind, credits, entry_id: id, available_after: available, held_after: held } = entry
    const [toAvailable, toHeld] = changes[kind].map((sign) => sign * credits) as [number, number]
    if (available !== before.available_after + toAvailable || held !== before.held_after + toHeld)
      return `${id}, a ${kind} of ${credits}, leaving ${available} + ${held} held after ${before.available_after} + ${before.held_after} held`
  }
  return null
}

/** What a credit of each kind adds to what is available, and to what is held. */
const changes: Readonly<Record<Entry['kind'], readonly [number, number]>> = {
  grant: [1, 0],
  adjust: [1, 0],
  hold: [-1, 1],
  charge: [0, -1],
  release: [1, -1],
}

/** The first entry whose hash is not that of what it says, in words. @param entries newest first */
export function findWrongHash(entries: readonly Entry[], accountId: string): string | null {
  for (const [index, entry] of entries.entries()) {
    const before = entries[index + 1]
    if (entry.hash === null && (before?.hash ?? null) === null) continue
    if (before && entry.previous_hash !== before.hash) return `${entry.entry_id}, which names another hash before it`
    const hash = hashEntry(entry.previous_hash, {
      accountId,
      entryId: entry.entry_id,
      kind: entry.kind,
      jobId: entry.job_id,
      credits: entry.credits,
      availableAfter: entry.available_after,
      heldAfter: entry.held_after,
      reference: entry.reference,
      note: entry.note,
      createdAtMs: Date.parse(entry.created_at),
    })
    if (hash !== entry.hash) return `${entry.entry_id} with the hash ${entry.hash}, which is not of what it says`
  }
  return null
}
