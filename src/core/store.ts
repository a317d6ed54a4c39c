// The port to where state lives. Each method is one whole business transaction: atomic, durable when it resolves, safe to repeat.
// Business outcomes are values; what is thrown is infrastructure that failed.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import type { ClaimedJob, Job, JobOutcome, JobStatus, OperatorJob } from './job.ts'
import type { ApiKey, Permission } from './key.ts'
import type { Balance, LedgerEntry } from './ledger.ts'
import type { Page, PageRequest } from './page.ts'
import type { RetentionStore } from './retention.ts'
import type { UploadStore } from './upload.ts'
import type { WebhookStore } from './webhook.ts'

/** An account with its balance. */
export interface Account extends Balance {
  readonly accountId: string
  readonly name: string
  readonly createdAtMs: number
}

/** A secret that signs: quotes or asset URLs. Old numbers stay readable after a rotation. */
export interface SigningKey {
  /** Counts from 1 within its purpose; the highest signs. */
  readonly number: number
  readonly secret: Buffer
  readonly createdAtMs: number
}

/** What signing keys are for. */
export type SigningPurpose = 'quote' | 'asset'

export interface StartCommand {
  readonly accountId: string
  readonly model: string
  readonly input: JsonObject
  readonly quoteId: string
  readonly idempotencyKey: string
  /** SHA-256 of model, canonical input, quote id and terms: what must be equal for a request to be the same again. */
  readonly requestDigest: Buffer
  readonly credits: number
  /** The account may have at most so many queued jobs. */
  readonly maxQueuedJobs: number
  /** −10 … 0; lower ones yield. */
  readonly priority: number
  /** When the job is to end by itself, from now; null for never. */
  readonly expiresInMs: number | null
  /** How long its outputs are kept; null for ever. */
  readonly retainMs: number | null
  /** Whether another run does no harm, and how many runs may be lost: the model's, as it is now. */
  readonly resumable: boolean
  readonly maxAttempts: number
}

export type StartOutcome =
  | { readonly outcome: 'created'; readonly job: Job }
  | { readonly outcome: 'replayed'; readonly job: Job }
  | { readonly outcome: 'key_reused' }
  | { readonly outcome: 'no_credits'; readonly available: number }
  | { readonly outcome: 'too_many_jobs'; readonly queued: number }

/** A job that was started with an idempotency key, and the digest of that request. */
export interface StartedJob {
  readonly job: Job
  readonly requestDigest: Buffer
}

export interface JobFilter extends PageRequest {
  /** Null for jobs of all accounts. */
  readonly accountId: string | null
  readonly status: JobStatus | null
  readonly model: string | null
  readonly idempotencyKey: string | null
}

/** Places that accounts hold, and how many one may hold while others wait. */
export interface PlaceShare {
  /** Accounts that hold places, and how many. */
  readonly held: Readonly<Record<string, number>>
  /** An account that holds so many is claimed for only when nobody below that waits. */
  readonly most: number
  /** Whether it is not claimed for even then. */
  readonly strict: boolean
}

export interface ClaimCommand {
  /** Name of the claiming worker, for the record. */
  readonly worker: string
  /** How many more jobs of each model the worker has room for; models that are not named are not claimed. */
  readonly room: Readonly<Record<string, number>>
  /** At most so many in all. */
  readonly limit: number
  /** Accounts whose jobs are left in the queue. Default: none. */
  readonly except?: readonly string[]
  /** How the places of the worker are shared among accounts. Default: they are not. */
  readonly share?: PlaceShare
  /** How long the claim holds without a heartbeat. */
  readonly leaseMs: number
}

export interface Heartbeat {
  readonly jobId: string
  readonly token: number
  readonly progress: number
  /** Undefined leaves the checkpoint as it is. */
  readonly checkpoint?: JsonValue
}

export interface HeartbeatOutcome {
  /** Jobs whose claim is gone: stop working on them. */
  readonly lost: readonly string[]
  /** Jobs whose owner asked to cancel. */
  readonly cancelRequested: readonly string[]
  /** Jobs whose deadline has passed. */
  readonly deadlinePassed: readonly string[]
}

export interface SweepCommand {
  /** Length of a fresh lease: one that ends later was taken before the clock went back, and is cut to this. */
  readonly leaseMs: number
  /** How long a job may be under review. */
  readonly reviewMs: number
  /** So many of each kind at most. */
  readonly limit: number
  /** 0 … 1, spreads the retries. */
  readonly random: number
}

/** What a sweep did: in jobs, and at the end in deliveries of webhooks. */
export interface SweepOutcome {
  /** Of lost workers: queued again. */
  readonly requeued: number
  /** Of lost workers: failed, since too many runs were lost. */
  readonly failed: number
  /** Of lost workers: to be reviewed. */
  readonly reviewed: number
  /** Ended by their deadline, or as their owner had wished when their worker was lost. */
  readonly expired: number
  /** Released since the time for review was over. */
  readonly released: number
  /** Retries whose time had come. */
  readonly woken: number
  /** Waits that began before the clock went back, and begin anew. */
  readonly rebased: number
  /** Deliveries that ended long ago. */
  readonly forgotten: number
  /** Whether there may be more to do. */
  readonly more: boolean
}

export type AdjustOutcome =
  | { readonly outcome: 'done'; readonly account: Account }
  | { readonly outcome: 'no_account' }
  | { readonly outcome: 'out_of_range'; readonly available: number }

export type ResolveOutcome =
  | { readonly outcome: 'done'; readonly job: Job }
  | { readonly outcome: 'no_job' }
  | { readonly outcome: 'not_in_review'; readonly status: JobStatus }
  | { readonly outcome: 'above_hold'; readonly creditsHeld: number }

/** What a check of the whole ledger found. */
export interface LedgerReport {
  readonly accounts: number
  readonly entries: number
  readonly jobs: number
  /** Every invariant that does not hold, in words. */
  readonly problems: readonly string[]
  /** What an operator could do about each problem, in the same order. */
  readonly repairs: readonly string[]
}

/** Where state lives. */
export interface Store extends WebhookStore, UploadStore, RetentionStore {
  createAccount(name: string, credits: number): Promise<Account>
  getAccount(accountId: string): Promise<Account | null>
  listAccounts(page: PageRequest): Promise<Page<Account>>
  /** `credits` > 0 */
  grantCredits(accountId: string, credits: number, note: string | null): Promise<AdjustOutcome>
  /** `credits` ≠ 0 */
  adjustCredits(accountId: string, credits: number, note: string): Promise<AdjustOutcome>
  listEntries(accountId: string, page: PageRequest): Promise<Page<LedgerEntry>>
  verifyLedger(): Promise<LedgerReport>

  /** Null when there is no such account. */
  createKey(
    accountId: string,
    secretHash: Buffer,
    permissions: readonly Permission[],
    expiresAtMs: number | null,
  ): Promise<ApiKey | null>
  /** Null when there is no such key. Revoking twice keeps the first time. */
  revokeKey(keyId: string): Promise<ApiKey | null>
  listKeys(accountId: string | null, page: PageRequest): Promise<Page<ApiKey>>
  findKey(secretHash: Buffer): Promise<ApiKey | null>

  /** All keys of a purpose, the newest last; the first call makes the first key. */
  signingKeys(purpose: SigningPurpose): Promise<readonly SigningKey[]>
  /** Makes a new one and returns it. */
  rotateSigningKey(purpose: SigningPurpose): Promise<SigningKey>

  /** Holds the credits and queues the job, or says why not. A refusal leaves the idempotency key free. */
  startGeneration(command: StartCommand): Promise<StartOutcome>
  findStartedJob(accountId: string, idempotencyKey: string): Promise<StartedJob | null>
  /** Any account's job when `accountId` is null. */
  getJob(accountId: string | null, jobId: string): Promise<Job | null>
  listJobs(filter: JobFilter): Promise<Page<Job>>
  /** What an operator sees of a job; null when there is none. */
  inspectJob(jobId: string): Promise<OperatorJob | null>

  /** Models with queued jobs that may be claimed: workers need room for no others. Costs by how many they are. */
  listWaitingModels(): Promise<readonly string[]>
  /** Hands queued jobs to a worker, by priority and then fairly among accounts: they are running afterwards, with one attempt more. */
  claimJobs(command: ClaimCommand): Promise<readonly ClaimedJob[]>
  /** Renews claims, and writes down progress and checkpoints. */
  heartbeat(beats: readonly Heartbeat[], leaseMs: number): Promise<HeartbeatOutcome>
  /**
   * Ends a run and settles its hold in the same transaction. Null when the token is stale: nothing changed.
   * What succeeds after its deadline is canceled: this clock is the judge.
   */
  finishJob(jobId: string, token: number, outcome: JobOutcome): Promise<Job | null>
  /** Cancels a queued job at once, notes the wish on a running one, leaves a terminal one as it is. Null when the account has no such job. */
  requestCancel(accountId: string, jobId: string): Promise<Job | null>
  /** Names of workers that have running jobs. */
  listWorkers(): Promise<readonly string[]>
  /** Ends the leases of workers that are known to be dead; the next sweep sees to their jobs. Answers with how many there were. */
  endLeases(workers: readonly string[]): Promise<number>
  /** Sees to what nobody else does: lost workers, deadlines of queued jobs, retries, reviews that took too long. Doing it twice does nothing more. */
  sweep(command: SweepCommand): Promise<SweepOutcome>
  /** Ends a job under review: charges `charge` of its hold and releases the rest. */
  resolveReview(jobId: string, charge: number): Promise<ResolveOutcome>

  /** Calls back with the ids of jobs that this process changed, after they are durable. A hint: changes of other processes are not told. */
  onJobsChanged(listener: (jobIds: readonly string[]) => void): () => void
  /** Changes whenever another process has changed anything, and never by changes of this one: tells cheaply that there may be news. */
  changeCounter(): Promise<number>
  /** Resolves when a change would be durable now; rejects within about a second when it would not. */
  check(): Promise<void>
  /** Finishes what was submitted, then closes. */
  close(): Promise<void>
}
