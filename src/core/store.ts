// The storage port. Each method is one business transaction: atomic, durable when it resolves, safe to repeat.
// Business outcomes are values; exceptions are failures of the infrastructure.
import type { AfterLoss, JsonObject, JsonValue, UpstreamRun } from '@mediagen/engine/engine.ts'
import type { ProviderStore } from '@mediagen/engine/provider-share.ts'
import type { AccountChange, StatusRecord } from './accounts/account-status.ts'
import type { Actor, AuditStore } from './accounts/audit.ts'
import type { ApiKey, KeyUse, NewKey } from './accounts/key.ts'
import type { Budget, Limits, LimitState } from './accounts/limits.ts'
import type { RateStore } from './accounts/rate.ts'
import type { SessionStore } from './accounts/session.ts'
import type { WebhookStore } from './accounts/webhook.ts'
import type { LedgerRoot } from './credits/ledger-chain.ts'
import type { Balance, LedgerEntry } from './credits/ledger.ts'
import type { UsagePage, UsageRequest } from './credits/usage.ts'
import type { UploadStore } from './files/upload.ts'
import type { Backlog } from './jobs/backlog.ts'
import type { DeleteOutcome } from './jobs/deletion.ts'
import type { ClaimedJob, Job, JobError, JobOutcome, JobStatus, OperatorJob, UsagePrice } from './jobs/job.ts'
import type { Label, Labels } from './jobs/labels.ts'
import type { Additions, StoredInput } from './jobs/reproduction.ts'
import type { RetentionStore } from './jobs/retention.ts'
import type { SweepCommand, SweepOutcome, SweepTerms } from './jobs/sweep.ts'
import type { Page, PageRequest } from './page.ts'
import type { TraceContext } from './traces.ts'

/** An account with its balance. */
export interface Account extends Balance, StatusRecord {
  readonly accountId: string
  readonly name: string
  readonly createdAtMs: number
  readonly limits: Limits
}

/** A secret that signs quotes or asset URLs. Old keys stay after a rotation unless they are revoked. */
export interface SigningKey {
  /** Counts from 1 within its purpose; the highest signs. */
  readonly number: number
  readonly secret: Buffer
  readonly createdAtMs: number
}

/** The purposes of signing keys. */
export type SigningPurpose = 'quote' | 'asset'

export interface StartCommand {
  readonly accountId: string
  /** The key that starts it, and what its owner calls it. */
  readonly keyId: string
  readonly keyName: string | null
  /** The name of the time zone of the windows of limits. */
  readonly timeZone: string
  readonly model: string
  readonly input: JsonObject
  readonly additions: Additions
  readonly quoteId: string
  readonly idempotencyKey: string
  /** SHA-256 of model, canonical input, quote id and terms: a repeated request must have the same. */
  readonly requestDigest: Buffer
  readonly credits: number
  /** The price of the work that is done, when billed by usage; null charges the quote. */
  readonly usagePrice: UsagePrice | null
  /** Maximum number of queued jobs of the account. */
  readonly maxQueuedJobs: number
  /** −10 … 0; a lower one yields. */
  readonly priority: number
  /** Deadline of the job, from now; null for none. */
  readonly expiresInMs: number | null
  /** How long its outputs are kept; null for ever. */
  readonly retainMs: number | null
  /** How many runs may be lost or fail, by the model as it is now. */
  readonly maxAttempts: number
  readonly labels: Labels
  /** Where the start is in a trace, for who runs the job; null without traces. */
  readonly trace: TraceContext | null
  /** Where its end is sent, besides to the endpoints of the account; null for nowhere. */
  readonly webhookUrl: string | null
}

export type StartOutcome =
  | { readonly outcome: 'created'; readonly job: Job }
  | { readonly outcome: 'replayed'; readonly job: Job }
  | { readonly outcome: 'key_reused' }
  /** Its status is not `active`. */
  | ({ readonly outcome: 'account_not_active' } & Pick<StatusRecord, 'status' | 'statusReason'>)
  | { readonly outcome: 'no_credits'; readonly available: number }
  | { readonly outcome: 'too_many_jobs'; readonly queued: number }
  | { readonly outcome: 'over_limit'; readonly exceeded: LimitState }

/** A job that has changed. */
export interface JobNotification {
  readonly jobId: string
  /** Its record after the change, where it is known. */
  readonly job: Job | null
  /** Whether it may have come into the queue: workers look there. */
  readonly queued: boolean
}

/** Receives the jobs that changed; null when another process changed something unknown. */
export type NotificationListener = (jobs: readonly JobNotification[] | null) => void

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
  /** Only jobs with this text in a text of their input, as `foldText` compares; null for all. */
  readonly search: string | null
  /** Only jobs with this label, which an account must be named for. Default: all. */
  readonly label?: Label | null
  /** Whether jobs that their owners deleted are listed, too. */
  readonly withDeleted: boolean
}

/** Slots that accounts hold, and how many one may hold while others wait. */
export interface SlotShare {
  /** Accounts that hold slots, and how many. */
  readonly held: Readonly<Record<string, number>>
  /** Jobs of an account with at least this many slots are claimed only when no account with fewer has a job waiting. */
  readonly most: number
  /** Whether jobs of such an account are not claimed even then. */
  readonly strict: boolean
}

export interface ClaimCommand {
  /** Name of the claiming worker, for the record. */
  readonly worker: string
  /** How many more jobs of each model the worker can take; other models are not claimed. */
  readonly room: Readonly<Record<string, number>>
  /** Maximum number in total. */
  readonly limit: number
  /** Accounts whose jobs are left in the queue. Default: none. */
  readonly except?: readonly string[]
  /** How the slots of the worker are shared among accounts. Default: they are not. */
  readonly share?: SlotShare
  /** Duration of the lease without a heartbeat. */
  readonly leaseMs: number
}

export interface Heartbeat {
  readonly jobId: string
  readonly token: number
  readonly progress: number
}

/** What a run leaves for the next one. */
export interface SavedCheckpoint {
  readonly checkpoint: JsonValue
  readonly afterLoss: AfterLoss
  /** The record of a submission to another server that changed with it. */
  readonly upstream?: UpstreamRun
}

/** A question to another server about a job that has no run any more. */
export interface PendingWork {
  readonly jobId: string
  readonly model: string
  /** Find out about a run whose outcome is unknown, or end one whose job has ended. */
  readonly kind: 'reconcile' | 'cancel'
  readonly checkpoint: JsonValue
  /** Tells this question from others about the job. */
  readonly fence: number
  /** Times that it was claimed. */
  readonly attempts: number
  readonly ageMs: number
}

/** The answer to such a question. */
export type PendingWorkAnswer =
  | { readonly outcome: 'again'; readonly waitMs: number }
  /** Nothing is left to do. */
  | { readonly outcome: 'done'; readonly upstream?: UpstreamRun | undefined }
  /** The job under review goes on. */
  | ({ readonly outcome: 'known' } & SavedCheckpoint)
  | { readonly outcome: 'failed'; readonly error: JobError; readonly upstream?: UpstreamRun | undefined }

export interface HeartbeatOutcome {
  /** Jobs whose claim was lost: stop working on them. */
  readonly lost: readonly string[]
  /** Jobs whose owner requested cancellation. */
  readonly cancelRequested: readonly string[]
  /** Jobs whose deadline has passed. */
  readonly deadlinePassed: readonly string[]
}

export type AccountChangeOutcome =
  /** `revokedKeys` is how many it had, if this closed it. */
  | { readonly outcome: 'done'; readonly account: Account; readonly revokedKeys: number }
  | { readonly outcome: 'no_account' }
  | { readonly outcome: 'closed' }
  | { readonly outcome: 'busy'; readonly openJobs: number }

export type AdjustOutcome =
  | { readonly outcome: 'done'; readonly account: Account }
  | { readonly outcome: 'no_account' }
  | { readonly outcome: 'out_of_range'; readonly available: number }

export type GrantOutcome =
  | Exclude<AdjustOutcome, { outcome: 'done' }>
  | { readonly outcome: 'closed' }
  /** `entry` is that of an earlier request with the same reference, if `replayed`. */
  | { readonly outcome: 'done'; readonly account: Account; readonly entry: LedgerEntry; readonly replayed: boolean }
  /** `entry` is the grant that has the reference. */
  | { readonly outcome: 'reference_reused'; readonly entry: LedgerEntry }

export type ResolveOutcome =
  | { readonly outcome: 'done'; readonly job: Job }
  | { readonly outcome: 'no_job' }
  | { readonly outcome: 'not_in_review'; readonly status: JobStatus }
  | { readonly outcome: 'above_hold'; readonly creditsHeld: number }

/** The result of checking the whole ledger. */
export interface LedgerReport {
  readonly accounts: number
  readonly entries: number
  readonly jobs: number
  /** Over the last entries of all accounts (ledger-chain.ts). */
  readonly root: string
  /** Every violated invariant, as a sentence. */
  readonly problems: readonly string[]
  /** How an operator can repair each problem, in the same order. */
  readonly repairs: readonly string[]
}

/** The storage of all state. An administrative act is recorded in its own transaction; `by` is who does it, by default the server itself. */
export interface Store
  extends RateStore, WebhookStore, UploadStore, RetentionStore, AuditStore, ProviderStore, SessionStore {
  createAccount(name: string, credits: number, by?: Actor): Promise<Account>
  getAccount(accountId: string): Promise<Account | null>
  listAccounts(page: PageRequest): Promise<Page<Account>>
  /** Accounts with exactly this name, the oldest first, at most `limit`. */
  findAccounts(name: string, limit: number): Promise<readonly Account[]>
  /** Renames, freezes, unfreezes or closes an account; nothing is recorded if it is so already. Closing revokes its keys. */
  changeAccount(accountId: string, change: AccountChange, by?: Actor): Promise<AccountChangeOutcome>
  /** Replaces the limits that are named. Null when there is no such account. */
  changeAccountLimits(accountId: string, change: Partial<Limits>, by?: Actor): Promise<Account | null>
  /** `credits` > 0. A grant with a `reference` is made once, however often and by how many processes it is requested. */
  grantCredits(
    accountId: string,
    credits: number,
    note: string | null,
    by?: Actor,
    reference?: string | null,
  ): Promise<GrantOutcome>
  /** `credits` ≠ 0 */
  adjustCredits(accountId: string, credits: number, note: string, by?: Actor): Promise<AdjustOutcome>
  listEntries(accountId: string, page: PageRequest): Promise<Page<LedgerEntry>>
  /** Sums of jobs that have ended. */
  listUsage(request: UsageRequest): Promise<UsagePage>
  verifyLedger(): Promise<LedgerReport>
  /** Reads one row for each account. */
  readLedgerRoot(): Promise<LedgerRoot>

  /** Null when there is no such account, it is not active, or the key that makes it is revoked. */
  createKey(key: NewKey, by?: Actor): Promise<ApiKey | null>
  /** Replaces the limits that are named. Null when there is no such key. */
  changeKeyLimits(keyId: string, change: Partial<Limits>, by?: Actor): Promise<ApiKey | null>
  /** The limits that apply to starts with a key, and what counts against them. */
  readBudgets(key: Pick<ApiKey, 'keyId' | 'accountId'>): Promise<readonly Budget[]>
  getKey(keyId: string): Promise<ApiKey | null>
  /** Revokes a key with the keys that it made. Null when there is no such key. Revoking twice keeps the first time. */
  revokeKey(keyId: string, by?: Actor): Promise<ApiKey | null>
  listKeys(accountId: string | null, page: PageRequest): Promise<Page<ApiKey>>
  /** The key with this text. A key that exists may be answered from a cache for half a second; a promise where it is not. */
  findKey(secret: string): Promise<ApiKey | null>
  /** Records when keys were last used, each at most once a minute (`keyUseMs`). */
  recordKeyUses(uses: readonly KeyUse[]): Promise<void>

  /** All keys of a purpose, the newest last; the first call creates the first key. */
  signingKeys(purpose: SigningPurpose): Promise<readonly SigningKey[]>
  /** Creates a new key and returns it. `revoke` removes all others, and with them whatever they signed. */
  rotateSigningKey(purpose: SigningPurpose, by?: Actor, revoke?: boolean): Promise<SigningKey>

  /** Holds the credits and queues the job, or says why not. A refusal leaves the idempotency key free. */
  startGeneration(command: StartCommand): Promise<StartOutcome>
  findStartedJob(accountId: string, idempotencyKey: string): Promise<StartedJob | null>
  /** Any account's job when `accountId` is null. */
  getJob(accountId: string | null, jobId: string): Promise<Job | null>
  /** What a job was started with; null once retention has removed it. */
  getInput(jobId: string): Promise<StoredInput | null>
  /** The same of several jobs of an account, without large values (`briefInput`). */
  listBriefInputs(accountId: string, jobIds: readonly string[]): Promise<ReadonlyMap<string, JsonObject>>
  listJobs(filter: JobFilter): Promise<Page<Job>>
  /** A job with the operator's fields; null if there is none. */
  inspectJob(jobId: string): Promise<OperatorJob | null>

  /** Models with claimable queued jobs; a worker needs room for no others. The cost grows with their number. */
  listWaitingModels(): Promise<readonly string[]>
  /** How much waits, for operators. The cost grows with what has not ended, never with what has. */
  measureBacklog(): Promise<Backlog>
  /** Claims queued jobs for a worker, by priority and then fairly among accounts. They are then running, with one more attempt. */
  claimJobs(command: ClaimCommand): Promise<readonly ClaimedJob[]>
  /** Renews claims, and records progress. */
  heartbeat(beats: readonly Heartbeat[], leaseMs: number): Promise<HeartbeatOutcome>
  /**
   * Stores a checkpoint for the next run, how to treat the job when this run is lost, and the record of a submission. False
   * when the claim is lost: then only the record of the submission is used, and the job is not changed.
   */
  saveCheckpoint(jobId: string, token: number, saved: SavedCheckpoint): Promise<boolean>
  /** Shows a draft picture of a running job: its key. False when the claim is lost. The end of the run takes it away. */
  showPreview(jobId: string, token: number, key: string): Promise<boolean>
  /**
   * Ends a run and settles its hold in the same transaction. Null when the token is stale: nothing changed.
   * A job that succeeds after its deadline is canceled; the clock of the store decides.
   */
  finishJob(jobId: string, token: number, outcome: JobOutcome): Promise<Job | null>
  /** Cancels a queued job at once, marks a running one as to be canceled, leaves a terminal one unchanged. Null if the account has no such job. */
  requestCancel(accountId: string, jobId: string): Promise<Job | null>
  /** The same of any account, by an operator: on record if it changed anything. Null if there is no such job. */
  cancelAnyJob(jobId: string, reason: string | null, by?: Actor): Promise<Job | null>
  /** Deletes an ended job of the account: it forgets the input at once, and the files are removed as if they had expired. */
  deleteJob(accountId: string, jobId: string): Promise<DeleteOutcome>
  /** Ends the leases of processes that are known to be dead, also that of the leader; the next sweep handles their jobs. Returns the number of jobs. */
  endLeases(workers: readonly string[]): Promise<number>
  /**
   * Whether this process is the leader, which sweeps and removes files for all. At most one process is. A leader renews its
   * lease by calling this again before the lease ends; other processes only read it. Closing the store gives the lease up.
   */
  lead(leaseMs: number): Promise<boolean>
  /** Whether a sweep would find anything to do: a read. */
  needsSweep(terms: SweepTerms): Promise<boolean>
  /** Handles lost workers, deadlines of queued jobs, retries and expired reviews, each in a transaction of its own. Idempotent. */
  sweep(command: SweepCommand): Promise<SweepOutcome>
  /** Claims the questions to other servers that are due; one that is not answered is claimed again when the lease ends. */
  claimPendingWork(limit: number, leaseMs: number): Promise<readonly PendingWork[]>
  /** Records the answer; ignored when the question was claimed again meanwhile. */
  answerPendingWork(pending: PendingWork, answer: PendingWorkAnswer): Promise<void>
  /** Ends a job under review: charges `charge` of its hold and releases the rest. */
  resolveReview(jobId: string, charge: number, by?: Actor): Promise<ResolveOutcome>

  /**
   * Calls back when something has changed and is durable, in this process or another. It is only a hint and may be lost: a
   * caller that must not miss a change also polls every second or two.
   */
  onNotification(listener: NotificationListener): () => void
  /** The number of the last change of each of these jobs: a cheap way to find those that have changed. */
  readSequences(jobIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** The time of the store, in milliseconds since 1970: the same for all its processes, whatever the clocks of their machines say. */
  nowMs(): number
  /** How long the oldest change that is not durable yet has waited, in milliseconds; 0 when there is none. */
  writeDelayMs(): number
  /** Resolves if a change would be durable now; rejects within about a second if not. */
  check(): Promise<void>
  /** Finishes submitted changes, then closes. */
  close(): Promise<void>
}
