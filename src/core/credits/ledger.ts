// The arithmetic of credits: the only changes that a balance can have. docs/contract.md, section 1, Money.

/** The largest number of credits in a balance, a price or an entry: what JSON numbers represent exactly. */
export const maxCredits = Number.MAX_SAFE_INTEGER

/** Why a balance changed. */
export type EntryKind = 'grant' | 'hold' | 'charge' | 'release' | 'adjust'

/** Credits of an account. */
export interface Balance {
  /** Credits that can be spent. */
  readonly available: number
  /** Credits held for active jobs. */
  readonly held: number
}

/** One change of a balance, before it is recorded. */
export interface Posting {
  readonly kind: EntryKind
  /** Credits that moved, ≥ 0; negative only for an adjustment downwards. */
  readonly credits: number
  /** The balance afterwards. */
  readonly after: Balance
}

/** One append-only line of the ledger. */
export interface LedgerEntry {
  readonly entryId: string
  readonly accountId: string
  readonly jobId: string | null
  /** The key that started the job, and what its owner calls it; null without one, and for jobs that were forgotten before there were limits. */
  readonly keyId: string | null
  readonly keyName: string | null
  readonly kind: EntryKind
  readonly credits: number
  readonly availableAfter: number
  readonly heldAfter: number
  readonly note: string | null
  /** What pays for a grant, unique in the installation; null without one. */
  readonly reference: string | null
  readonly createdAtMs: number
  /** SHA-256 over this entry and `previousHash`, in hexadecimal; null for an entry that was written before there were chains. */
  readonly hash: string | null
  /** The hash of the entry before it; null without one. */
  readonly previousHash: string | null
}

/** Whether `value` is a whole number of credits, 0 … 2^53 − 1. */
export function isCredits(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

/** A number of credits in words. */
export function countCredits(credits: number): string {
  return `${credits} ${credits === 1 ? 'credit' : 'credits'}`
}

/** Grants credits. Null if the balance could no longer be represented exactly. */
export function grant(balance: Balance, credits: number): Posting | null {
  const available = balance.available + credits
  if (!isCredits(available + balance.held)) return null
  return { kind: 'grant', credits, after: { available, held: balance.held } }
}

/** Whether a grant that was made is the one that a request with its reference asks for. */
export function isSameGrant(
  made: Pick<LedgerEntry, 'accountId' | 'credits'>,
  { accountId, credits }: Pick<LedgerEntry, 'accountId' | 'credits'>,
): boolean {
  return made.accountId === accountId && made.credits === credits
}

/** Holds credits for a job that starts. Null when too few are available. */
export function hold(balance: Balance, credits: number): Posting | null {
  if (balance.available < credits) return null
  return { kind: 'hold', credits, after: { available: balance.available - credits, held: balance.held + credits } }
}

/** Corrects a balance. Null if it would fall below zero or could no longer be represented exactly. */
export function adjust(balance: Balance, credits: number): Posting | null {
  const available = balance.available + credits
  if (!isCredits(available) || !isCredits(available + balance.held)) return null
  return { kind: 'adjust', credits, after: { available, held: balance.held } }
}

/** What `some` of `all` parts of something cost, rounded up to a whole credit; the whole is `credits`. */
export function shareOf(credits: number, some: number, all: number): number {
  if (some >= all) return credits
  return Number((BigInt(credits) * BigInt(some) + BigInt(all) - 1n) / BigInt(all))
}

/** The resolution of a hold: what is charged and what is released. */
export interface Settlement {
  readonly charged: number
  readonly released: number
  /** The postings in order; empty if no credits move. */
  readonly postings: readonly Posting[]
}

/**
 * Resolves a hold.
 * @param actual credits that the work cost; at most the hold is charged.
 */
export function settle(balance: Balance, held: number, actual: number): Settlement {
  const charged = Math.min(actual, held)
  const released = held - charged
  const postings: Posting[] = []
  let after = balance
  if (charged > 0) {
    after = { available: after.available, held: after.held - charged }
    postings.push({ kind: 'charge', credits: charged, after })
  }
  if (released > 0) {
    after = { available: after.available + released, held: after.held - released }
    postings.push({ kind: 'release', credits: released, after })
  }
  return { charged, released, postings }
}
