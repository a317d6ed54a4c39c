// Opens the store on a PostgreSQL database.
import { randomUUID } from 'node:crypto'
import { takeRandomBytes } from '@mediagen/engine/random-bytes.ts'
import type { AuditEntry } from '../../core/accounts/audit.ts'
import type { Clock } from '../../core/clock.ts'
import { createIdSource } from '../../core/ids.ts'
import { addSwept, nothingSwept } from '../../core/jobs/sweep.ts'
import { diskBehind, tooManyWrites } from '../../core/storage-trouble.ts'
import type { JobNotification, StartCommand, StartOutcome, Store } from '../../core/store.ts'
import { subscribe } from '../listening.ts'
import { createReadTurns } from '../read-turns.ts'
import { isSearch, searchJobs } from '../search.ts'
import { StorageError, within } from '../storage-error.ts'
import { readLedgerRoot, verifyLedger } from '../verify.ts'
import { changeAccount } from './accounts/account-changes.ts'
import {
  adjustCredits,
  changeAccountLimits,
  createAccount,
  createAccountReads,
  grantCredits,
} from './accounts/accounts.ts'
import { createAuditReads, record } from './accounts/audit.ts'
import {
  changeKeyLimits,
  createKey,
  createKeyReads,
  ensureSigningKeys,
  recordKeyUses,
  revokeKey,
  rotateSigningKey,
} from './accounts/keys.ts'
import { createSessionReads, endSessions, readmitPerson, revokeSession, signIn } from './accounts/sessions.ts'
import { createUsageReads } from './accounts/usage.ts'
import { type Database, openDatabase } from './connection.ts'
import { createRetentionReads, crossOff, expireFiles, forgetJobs, putOff, retryRemovals } from './files/retention.ts'
import { createUpload, createUploadReads, deleteUpload } from './files/uploads.ts'
import { cancelAnyJob, deleteJob, requestCancel, resolveReview } from './jobs/cancellations.ts'
import { claimJobs, type Finish, finishJobs, heartbeat, saveCheckpoint, showPreview } from './jobs/claims.ts'
import { createJobReads, readPositions } from './jobs/jobs.ts'
import { answerPendingWork, claimPendingWork } from './jobs/pending-work.ts'
import { type StartAnswer, startGenerations, withPosition } from './jobs/starts.ts'
import { endLeases, findSweepSteps } from './jobs/sweeps.ts'
import { describeUrl, prepareDatabase, toStartupError } from './migrate.ts'
import { type Notifications, openNotifications } from './notifications.ts'
import { dropLead, readLead, takeLead } from './shared/leaders.ts'
import { createProviderStore } from './shared/providers.ts'
import { takeTokens } from './shared/rates.ts'
import { runTogether } from './together.ts'
import { claimDeliveries, createDeliveryReads, redeliver, reportDelivery } from './webhooks/deliveries.ts'
import { createWebhookReads, createWebhookWrites } from './webhooks/webhook-endpoints.ts'
import type { Submit } from './writing.ts'

const checkMs = 1000
// What a start needs: no table may be locked.
const takeLocks =
  'LOCK TABLE accounts, jobs, job_inputs, ledger_entries, queues, queue_shares, spending IN ROW EXCLUSIVE MODE'
// For one of its pages, which counts all jobs of some accounts.
const verifyMs = 600_000
const awakeMs = 1000
const keptMarkMs = 86_400_000
const usualConnections = 10

export interface PostgresOptions {
  /** `postgres://…` */
  readonly url: string
  /** A connection of its own for notifications, where `url` leads through a pooler of transactions. Default: `url`. */
  readonly listenUrl?: string
  /** Whether to receive notifications of other processes. Default: yes. */
  readonly listens?: boolean
  /** Whether to bring the database to the current schema. Default: no. */
  readonly migrates?: boolean
  /** Whether the caller is the one that restores into it. Default: no. */
  readonly restores?: boolean
  /** Maximum number of connections, besides one for notifications. */
  readonly connections?: number
  /** The clock of commands, for tests. Default: that of the server. */
  readonly clock?: Clock
  /** As for SQLite. */
  readonly maxQueueMs?: number
  readonly maxQueuedWrites?: number
  readonly maxQueuedReads?: number
  readonly name?: string
}

/**
 * Opens the store.
 * @throws StartupError when the database cannot be used; it is left as it was.
 */
export async function openPostgresStore(options: PostgresOptions): Promise<Store & AsyncDisposable> {
  const { url, listenUrl = url, listens = true, migrates = false, restores = false, clock } = options
  const { connections = usualConnections, maxQueuedReads = Infinity, name = randomUUID() } = options
  await prepareDatabase(url, migrates, undefined, false, restores)
  const db = openDatabase(url, connections, () => clock?.nowMs() ?? null, restores)
  const notifications = await begin(db, listens ? listenUrl : null).catch(async (error: unknown) => {
    await closeAll([db.close])
    throw toStartupError(error, describeUrl(url))
  })
  const commands = createCommands(db, notifications, options)
  const { submit, ask, operate } = commands
  // The other connections stay free for everything else, however far lists walk.
  const { list, walk } = createReadTurns(Math.max(1, Math.floor(connections / 2)), maxQueuedReads)
  const leading = createLeading(db, submit, name)
  const reads = {
    ...createAccountReads(db),
    ...createKeyReads(db),
    ...createSessionReads(db),
    ...createUsageReads(db),
    ...createAuditReads(db),
    ...createJobReads(db),
    ...createWebhookReads(db),
    ...createDeliveryReads(db),
    ...createUploadReads(db),
    ...createRetentionReads(db),
  }

  let closing: Promise<void> | null = null
  const close = (): Promise<void> =>
    (closing ??= closeAll([commands.close, leading.stop, notifications.close, db.close]))

  return {
    createAccount: (...args) => operate((tx) => createAccount(tx, ...args)),
    getAccount: reads.getAccount,
    listAccounts: (page) => list(null, () => reads.listAccounts(page)),
    findAccounts: (name, limit) => list(null, () => reads.findAccounts(name, limit)),
    grantCredits: (...args) => operate((tx) => grantCredits(tx, ...args)),
    adjustCredits: (...args) => operate((tx) => adjustCredits(tx, ...args)),
    listEntries: (accountId, page) => list(accountId, () => reads.listEntries(accountId, page)),
    listUsage: (request) => list(request.accountId, () => reads.listUsage(request)),
    verifyLedger: () => verifyLedger((sql, values) => db.rows(sql, values, verifyMs)),
    readLedgerRoot: () => readLedgerRoot((sql, values) => db.rows(sql, values, verifyMs)),

    ...createKeyStore(operate, reads),
    recordKeyUses: (uses) => submit((tx) => recordKeyUses(tx, uses)),
    listKeys: (accountId, page) => list(accountId, () => reads.listKeys(accountId, page)),
    listSessions: (filter, page) => list(filter.accountId, () => reads.listSessions(filter, page)),
    takeTokens: (...args) => ask((tx) => takeTokens(tx, ...args)),
    async signingKeys(purpose) {
      const keys = await reads.readSigningKeys(purpose)
      return keys.length > 0 ? keys : submit((tx) => ensureSigningKeys(tx, purpose))
    },
    rotateSigningKey: (...args) => operate((tx) => rotateSigningKey(tx, ...args)),

    startGeneration: commands.start,
    findStartedJob: reads.findStartedJob,
    getJob: reads.getJob,
    getInput: reads.getInput,
    listBriefInputs: (_accountId, jobIds) => reads.listBriefInputs(jobIds),
    readSequences: reads.readSequences,
    listJobs: (filter) =>
      isSearch(filter)
        ? walk(filter.accountId, (turn) => searchJobs(reads.searches, filter, turn))
        : list(filter.accountId, () => reads.listJobs(filter)),
    inspectJob: reads.inspectJob,

    measureBacklog: reads.measureBacklog,
    listWaitingModels: reads.listWaitingModels,
    claimJobs: (command) => submit((tx) => claimJobs(tx, command)),
    heartbeat: (beats, leaseMs) => submit((tx) => heartbeat(tx, beats, leaseMs)),
    saveCheckpoint: (...args) => submit((tx) => saveCheckpoint(tx, ...args)),
    showPreview: (...args) => submit((tx) => showPreview(tx, ...args)),
    async claimPendingWork(limit, leaseMs) {
      const due = await db.row('SELECT 1 FROM upstream_duties WHERE due_at <= now_ms(:held) LIMIT 1')
      return due === undefined ? [] : submit((tx) => claimPendingWork(tx, limit, leaseMs))
    },
    answerPendingWork: (pending, answer) => submit((tx) => answerPendingWork(tx, pending, answer)),
    finishJob: (jobId, token, outcome) => commands.finish({ jobId, token, outcome }),
    endLeases: (workers) => submit((tx) => endLeases(tx, workers)),
    lead: leading.lead,
    needsSweep: async (terms) => (await findSweepSteps(db, terms)).length > 0,
    async sweep(command) {
      let swept = nothingSwept
      for (const step of await findSweepSteps(db, command))
        swept = addSwept(swept, await submit((tx) => step(tx, command)))
      return swept
    },
    requestCancel: (...args) => ask((tx) => requestCancel(tx, ...args)),
    deleteJob: (...args) => ask((tx) => deleteJob(tx, ...args)),
    cancelAnyJob: (...args) => operate((tx) => cancelAnyJob(tx, ...args)),
    resolveReview: (...args) => operate((tx) => resolveReview(tx, ...args)),

    getWebhook: reads.getWebhook,
    findStartWebhook: reads.findStartWebhook,
    getSigningEndpoint: reads.getSigningEndpoint,
    listWebhooks: (accountId, page) => list(accountId, () => reads.listWebhooks(accountId, page)),
    ...createWebhookWrites(ask),
    listDeliveries: (filter) => list(filter.accountId, () => reads.listDeliveries(filter)),
    redeliver: (...args) => operate((tx) => redeliver(tx, ...args)),
    hasDueDelivery: reads.hasDueDelivery,
    claimDeliveries: (claim) => submit((tx) => claimDeliveries(tx, claim)),
    reportDelivery: (report) => submit((tx) => reportDelivery(tx, report)),

    createUpload: (...args) => ask((tx) => createUpload(tx, ...args)),
    getUpload: reads.getUpload,
    listUploads: (accountId, page) => list(accountId, () => reads.listUploads(accountId, page)),
    deleteUpload: (...args) => ask((tx) => deleteUpload(tx, ...args)),
    measureUploads: reads.measureUploads,

    ...createProviderStore(db, submit),

    hasExpired: reads.hasExpired,
    expireFiles: (limit) => submit((tx) => expireFiles(tx, limit)),
    crossOff: (removals) => submit((tx) => crossOff(tx, removals)),
    putOff: (removals) => submit((tx) => putOff(tx, removals)),
    retryRemovals: () => submit(retryRemovals),
    forgetJobs: (command) => submit((tx) => forgetJobs(tx, command)),
    hasFiles: reads.hasFiles,
    findOwners: reads.findOwners,

    recordAct: (draft, by) => operate((tx) => record(tx, draft, by)),
    listAuditEntries: (accountId, ...page) => list(accountId, () => reads.listAuditEntries(accountId, ...page)),
    onAct: (listener) => subscribe(notifications.actListeners, listener),
    onNotification: (listener) => subscribe(notifications.listeners, listener),
    nowMs: db.nowMs,
    writeDelayMs: commands.behindMs,
    check: () => within(checkMs, commands.check()),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Keys with their limits, and sessions. A change of this process takes effect in it at once. */
function createKeyStore(
  operate: Submit,
  reads: ReturnType<typeof createKeyReads> & ReturnType<typeof createSessionReads>,
) {
  const clear = (): void => {
    reads.clearKeyCache()
    reads.clearSessionCache()
  }
  return {
    createKey: (...args) => operate((tx) => createKey(tx, ...args)),
    async revokeKey(...args) {
      const key = await operate((tx) => revokeKey(tx, ...args))
      clear()
      return key
    },
    async signIn(command) {
      const outcome = await operate((tx) => signIn(tx, command))
      clear()
      return outcome
    },
    findSession: reads.findSession,
    async revokeSession(...args) {
      const session = await operate((tx) => revokeSession(tx, ...args))
      clear()
      return session
    },
    async endSessions(...args) {
      const ended = await operate((tx) => endSessions(tx, ...args))
      clear()
      return ended
    },
    readmitPerson: (...args) => operate((tx) => readmitPerson(tx, ...args)),
    async changeKeyLimits(...args) {
      const key = await operate((tx) => changeKeyLimits(tx, ...args))
      clear()
      return key
    },
    readBudgets: reads.readBudgets,
    getKey: reads.getKey,
    findKey: reads.findKey,
    async changeAccountLimits(...args) {
      const account = await operate((tx) => changeAccountLimits(tx, ...args))
      clear()
      return account
    },
    async changeAccount(...args) {
      const changed = await operate((tx) => changeAccount(tx, ...args))
      clear()
      return changed
    },
  } satisfies Partial<Store>
}

/** Makes the first change and reads the time. */
async function begin(db: Database, listenUrl: string | null): Promise<Notifications> {
  await db.rows(
    `DELETE FROM commits WHERE slot IN (SELECT slot FROM commits WHERE used_at < now_ms(NULL) - ${keptMarkMs} FOR UPDATE SKIP LOCKED)`,
  )
  // Every transaction reads the time.
  await db.transact(async (tx) => tx.unchanged())
  return openNotifications(db, listenUrl, randomUUID())
}

/** Closes one after the other. Idle connections do not keep the process alive, but their end is awaited. */
async function closeAll(closers: readonly (() => Promise<void>)[]): Promise<void> {
  const awake = setInterval(() => {}, awakeMs)
  for (const close of closers) await close()
  clearInterval(awake)
}

/** Runs commands, notifies of what they changed, and counts those that wait. */
function createCommands(db: Database, notifications: Notifications, options: PostgresOptions) {
  const { maxQueueMs = Infinity, maxQueuedWrites = Infinity } = options
  let latestMs = 0
  const ids = createIdSource(() => latestMs, takeRandomBytes)
  /** When each was requested, the oldest first. */
  const waiting = new Map<symbol, number>()
  let closed = false
  let idle = (): void => {}

  const run: Submit = async (command) => {
    const { result, changed, acted } = await db.transact(async (tx) => {
      const changed: JobNotification[] = []
      const acted: AuditEntry[] = []
      const result = await command({
        ...tx,
        nowMs: async () => (latestMs = await tx.nowMs()),
        ids,
        changed: (jobId, job) => void changed.push({ jobId, job: job ?? null, queued: false }),
        queued: (jobId) => void changed.push({ jobId, job: null, queued: true }),
        acted: (entry) => void acted.push(entry),
      })
      return { result, changed, acted }
    })
    notifications.publish(changed, acted)
    return result
  }
  async function track<Result>(work: () => Promise<Result>): Promise<Result> {
    if (closed) throw new StorageError('the store is closed', null)
    const mine = Symbol('command')
    waiting.set(mine, performance.now())
    try {
      return await work()
    } finally {
      waiting.delete(mine)
      if (waiting.size === 0) idle()
    }
  }
  function behindMs(): number {
    const [oldest] = waiting.values()
    return oldest === undefined ? 0 : performance.now() - oldest
  }
  /** Admits changes of clients and operators, unless too many wait. */
  async function admit<Result>(work: () => Promise<Result>, mostMs: number): Promise<Result> {
    if (waiting.size >= maxQueuedWrites) throw tooManyWrites(maxQueuedWrites)
    // While the server is away or takes no changes, what waits tries again: that is no disk which is slow.
    if (behindMs() > mostMs) throw db.trouble() ?? diskBehind(mostMs)
    return track(work)
  }
  const together = runTogether<StartCommand, StartOutcome>((starts) => startAll(db, run, starts))
  const finish = runTogether((finishes: readonly Finish[]) => run((tx) => finishJobs(tx, finishes)))
  const submit: Submit = (command) => track(() => run(command))
  const ask: Submit = (command) => admit(() => run(command), maxQueueMs)
  const operate: Submit = (command) => admit(() => run(command), Infinity)

  return {
    submit,
    ask,
    operate,
    behindMs,
    check: () => operate(async (tx) => tx.send(takeLocks)),
    start: (command: StartCommand) => admit(() => together(command), maxQueueMs),
    finish: (report: Finish) => track(() => finish(report)),
    async close(): Promise<void> {
      if (waiting.size > 0) await new Promise<void>((resolve) => (idle = resolve))
      closed = true
    },
  }
}

async function startAll(db: Database, run: Submit, starts: readonly StartCommand[]): Promise<readonly StartAnswer[]> {
  const { answers, positions } = await run((tx) => startGenerations(tx, starts))
  // They came with the commit, unless its answer was lost.
  const known = await positions.catch(() => {
    const jobIds = answers.flatMap((answer) => ('job' in answer ? [answer.job.jobId] : []))
    return readPositions(db, jobIds)
  })
  return answers.map((answer) => withPosition(answer, known))
}

/** Only a process that may lead writes; the others read. */
function createLeading(db: Database, submit: Submit, name: string) {
  let leads = false
  return {
    async lead(leaseMs: number): Promise<boolean> {
      const judged = await readLead(db, name, leaseMs)
      if (judged !== 'take') return judged === 'mine'
      return (leads = await submit((tx) => takeLead(tx, name, leaseMs)))
    },
    async stop(): Promise<void> {
      if (leads) await db.transact((tx) => dropLead(tx, [name])).catch(() => {})
    },
  }
}
