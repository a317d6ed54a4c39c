// What a start does: replays an earlier one, is refused, or makes a job that holds its credits. Pure: a store loads the state and
// writes what this says. docs/contract.md, section 1.
import type { StatusRecord } from '../accounts/account-status.ts'
import { type Budget, findExceeded } from '../accounts/limits.ts'
import { calendarOf } from '../calendar.ts'
import { type Balance, hold, isCredits, type Posting } from '../credits/ledger.ts'
import type { StartCommand, StartOutcome } from '../store.ts'
import { newQueue, type QueueShare, takePosition } from './fair-queue.ts'

/** What a store has to load; `Earlier` and `Account` are its rows. */
export interface StartState<Earlier, Account> {
  /** The job that the account started with this idempotency key, and whether it was the same request. */
  readonly earlier: { readonly job: Earlier; readonly same: boolean } | null
  /** Null if there is none. */
  readonly account: Account | null
  /** The queue of the model, for the account; null when the model has none yet. */
  readonly share: QueueShare | null
  /** The limits of the key and of the account. */
  readonly budgets: readonly Budget[]
}

/** What a new job writes, beside what the command says. */
export interface StartWrites {
  readonly createdAtMs: number
  /** The day to whose windows its credits belong. */
  readonly day: string
  readonly deadlineAtMs: number | null
  /** Its key in the queue, and where the account's jobs end there now. */
  readonly fair: number
  readonly finish: number
  /** The entries of the ledger: none for a job that costs nothing. */
  readonly postings: readonly Posting[]
}

export type StartDecision<Earlier, Account> =
  | { readonly outcome: 'created'; readonly account: Account; readonly writes: StartWrites }
  | { readonly outcome: 'replayed'; readonly job: Earlier }
  | Exclude<StartOutcome, { outcome: 'created' | 'replayed' }>

/** The fields of a start that the decision depends on. */
export type StartTerms = Pick<StartCommand, 'accountId' | 'credits' | 'maxQueuedJobs' | 'expiresInMs' | 'timeZone'>

/** Decides a start. An earlier one with the same key wins over every refusal. */
export function decideStart<
  Earlier,
  Account extends Balance & Pick<StatusRecord, 'status' | 'statusReason'> & { readonly queuedJobs: number },
>(
  { earlier, account, share, budgets }: StartState<Earlier, Account>,
  { accountId, credits, maxQueuedJobs, expiresInMs, timeZone }: StartTerms,
  nowMs: number,
): StartDecision<Earlier, Account> {
  if (!isCredits(credits)) throw new RangeError('credits of a start must be a whole number from 0')
  if (earlier) return earlier.same ? { outcome: 'replayed', job: earlier.job } : { outcome: 'key_reused' }
  if (account === null) throw new Error(`no account ${accountId} to start a job for`)
  const { status, statusReason } = account
  if (status !== 'active') return { outcome: 'account_not_active', status, statusReason }
  if (account.queuedJobs >= maxQueuedJobs) return { outcome: 'too_many_jobs', queued: account.queuedJobs }
  const calendar = calendarOf(timeZone)
  const exceeded = findExceeded(budgets, credits, nowMs, calendar)
  if (exceeded !== null) return { outcome: 'over_limit', exceeded }
  const posting = hold(account, credits)
  if (posting === null) return { outcome: 'no_credits', available: account.available }
  const { key: fair, finish } = takePosition(share ?? newQueue, credits)
  return {
    outcome: 'created',
    account,
    writes: {
      createdAtMs: nowMs,
      day: calendar.dayOf(nowMs),
      deadlineAtMs: expiresInMs === null ? null : nowMs + expiresInMs,
      fair,
      finish,
      // A hold of zero moves no balance, so there is no entry.
      postings: credits > 0 ? [posting] : [],
    },
  }
}
