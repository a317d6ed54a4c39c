// Opens the store on an SQLite file: a writer thread for every change, a connection on this thread for every read.
import { randomUUID } from 'node:crypto'
import type { JsonValue } from '@mediagen/engine/engine.ts'
import type { AuditEntry } from '../../core/accounts/audit.ts'
import { systemClock, type Clock } from '../../core/clock.ts'
import { usageTooLarge } from '../../core/credits/usage.ts'
import type { ClaimedJob, UsagePrice } from '../../core/jobs/job.ts'
import { addSwept, nothingSwept, type SweepCommand, type SweepOutcome } from '../../core/jobs/sweep.ts'
import { diskBehind, listTookTooLong, tooManyWrites } from '../../core/storage-trouble.ts'
import type { NotificationListener, Store } from '../../core/store.ts'
import { toRunInput } from '../job-rows.ts'
import { subscribe } from '../listening.ts'
import { createReadTurns, type ReadTurns } from '../read-turns.ts'
import { isSearch, mostListMs, searchJobs, type SearchReads } from '../search.ts'
import { within } from '../storage-error.ts'
import { openReader, type Connection } from './connection.ts'
import { type ClaimedRow, createWaitingModels } from './jobs/claims.ts'
import { type StartAnswer, toQueuedJob, toStartRequest } from './jobs/starts.ts'
import { createDuePendingWorkRead } from './jobs/upstream.ts'
import { createProviderStore } from './shared/provider-store.ts'
import { toSigningKey } from './shared/signing-keys.ts'
import { openGroupCommit, type GroupCommit } from './threads/group-commit.ts'
import { createLongReads, type LongReads } from './threads/long-reads.ts'
import { createReads, type Reads } from './threads/reads.ts'
import { ownThreads, type Threads } from './threads/threads.ts'
import { toClaimedDelivery } from './webhooks/deliveries.ts'

const checkMs = 1000
// One is read by the thread of lists, and one is on its way there.
const readsAtOnce = 2

export interface SqliteOptions {
  /** The database file. Its folder must exist and be on a local disk. */
  readonly path: string
  /** Whether to create a missing file and to migrate it to the current schema. Default: yes. */
  readonly migrates?: boolean
  /** The clock of commands, read when they are sent to the writer. Default: the system's. */
  readonly clock?: Clock
  /** While changes wait longer than this for the disk, further ones of clients are refused. Default: no limit. */
  readonly maxQueueMs?: number
  /** Number of changes that may wait for the disk before further ones of clients and operators are refused. Default: no limit. */
  readonly maxQueuedWrites?: number
  /** Number of lists that may wait to be read, and of reports of usage. Default: no limit. */
  readonly maxQueuedReads?: number
  /** The name of this process in leader elections. Default: a random name. */
  readonly name?: string
  /** A monotonic clock. Default: the system's. */
  readonly monotonicMs?: () => number
  /** Where the writer and the reader run. Default: in threads of their own. */
  readonly threads?: Threads
}

/**
 * Opens the store.
 * @throws StartupError when the file or its folder cannot be used; the data is left as it was.
 */
export async function openSqliteStore(options: SqliteOptions): Promise<Store & AsyncDisposable> {
  const { path, threads = ownThreads, clock = systemClock, maxQueueMs = Infinity, name = randomUUID() } = options
  const { migrates = true, maxQueuedWrites = Infinity, maxQueuedReads = Infinity } = options
  const listeners = new Set<NotificationListener>()
  const actListeners = new Set<(entry: AuditEntry) => void>()
  const commits = {
    onNotification: (jobs: Parameters<NotificationListener>[0]) => listeners.forEach((listener) => listener(jobs)),
    onActs(entries: readonly AuditEntry[]) {
      for (const entry of entries) for (const listener of actListeners) listener(entry)
    },
  }
  const writer = await openGroupCommit({ path, migrates }, clock, commits, threads.startWriter(), options.monotonicMs)
  const reader = await openReaderOrClose(path, writer)
  const reads = createReads(reader, () => clock.nowMs())
  const long = createLongReads(path, clock, threads.startReader)
  const listWaitingModels = createWaitingModels(reader)
  const hasDuePendingWork = createDuePendingWorkRead(reader)

  const leading = createLeading(writer, reads, name)
  const ask = submitInTime(writer, maxQueuedWrites, maxQueueMs)
  const operate = submitInTime(writer, maxQueuedWrites, Infinity)

  async function close(): Promise<void> {
    // The last connection to close merges the write-ahead log into the file; the writer should do that.
    await leading.stop()
    await long.close()
    await writer.close(() => reader.close())
  }

  return {
    ...createLists(
      long,
      createReadTurns(readsAtOnce, maxQueuedReads),
      // They are read in pieces, between which lists are read: a list waits for none of them to end.
      createReadTurns(readsAtOnce, maxQueuedReads),
    ),

    createAccount: (name, credits, by) => operate('createAccount', name, credits, by),
    getAccount: async (accountId) => reads.getAccount(accountId),
    grantCredits: (...args) => operate('grantCredits', ...args),
    adjustCredits: (accountId, credits, note, by) => operate('adjustCredits', accountId, credits, note, by),
    verifyLedger: () => long.read('verifyLedger'),
    readLedgerRoot: () => long.read('readLedgerRoot'),

    ...createKeyStore(operate, reads),
    recordKeyUses: (uses) => ask('recordKeyUses', uses),

    takeTokens: (bucket, size, most) => ask('takeTokens', bucket, size, most),

    async signingKeys(purpose) {
      const keys = reads.signingKeys(purpose)
      return keys.length > 0 ? keys : (await writer.submit('ensureSigningKeys', purpose)).map(toSigningKey)
    },
    async rotateSigningKey(purpose, by, revoke) {
      const [key] = await operate('rotateSigningKey', purpose, by, revoke)
      if (key === undefined) throw new Error('no signing key was made')
      return toSigningKey(key)
    },

    async startGeneration(command) {
      const answer = (await ask('startGenerations', toStartRequest(command)))[0] as StartAnswer
      if (answer.outcome === 'replayed') return { outcome: 'replayed', job: reads.withPosition(answer.job) }
      if (answer.outcome !== 'created') return answer
      const { job, key } = toQueuedJob(command, answer)
      return { outcome: 'created', job: reads.withPosition(job, key) }
    },
    findStartedJob: async (accountId, idempotencyKey) => reads.findStartedJob(accountId, idempotencyKey),
    getJob: async (accountId, jobId) => reads.getJob(accountId, jobId),
    getInput: async (jobId) => reads.getInput(jobId),
    readSequences: async (jobIds) => reads.readSequences(jobIds),
    inspectJob: async (jobId) => reads.inspectJob(jobId),

    measureBacklog: () => long.read('measureBacklog'),
    listWaitingModels: async () => listWaitingModels(),
    claimJobs: async (command) => (await writer.submit('claimJobs', command)).map(toClaimedJob),
    heartbeat: async (beats, leaseMs) => writer.submit('heartbeat', beats, leaseMs),
    saveCheckpoint: (jobId, token, saved) =>
      writer.submit('saveCheckpoint', jobId, token, { ...saved, checkpoint: JSON.stringify(saved.checkpoint) }),
    showPreview: (jobId, token, key) => writer.submit('showPreview', jobId, token, key),
    claimPendingWork: async (most, ms) =>
      hasDuePendingWork(clock.nowMs()) ? writer.submit('claimPendingWork', most, ms) : [],
    answerPendingWork: (pending, answer) => writer.submit('answerPendingWork', pending, answer),
    async finishJob(jobId, token, outcome) {
      const job = await writer.submit('finishJob', jobId, token, outcome)
      return job && reads.withPosition(job)
    },
    endLeases: (workers) => writer.submit('endLeases', workers),
    lead: leading.lead,
    needsSweep: async (terms) => reads.findSweepSteps(terms).length > 0,
    sweep: (command) => sweep(writer, reads, command),
    requestCancel: (accountId, jobId) => ask('requestCancel', accountId, jobId),
    deleteJob: (accountId, jobId) => ask('deleteJob', accountId, jobId),
    cancelAnyJob: (jobId, reason, by) => operate('cancelAnyJob', jobId, reason, by),
    resolveReview: (jobId, charge, by) => operate('resolveReview', jobId, charge, by),

    createWebhook: (draft, limit) => ask('createWebhook', { ...draft, secret: new Uint8Array(draft.secret) }, limit),
    getWebhook: async (accountId, webhookId) => reads.getWebhook(accountId, webhookId),
    getSigningEndpoint: async (accountId, webhookId) => reads.getSigningEndpoint(accountId, webhookId),
    rotateWebhookSecret: (accountId, ...change) => ask('rotateWebhookSecret', accountId, ...change),
    findStartWebhook: async (accountId) => reads.findStartWebhook(accountId),
    openStartWebhook: (accountId, secret) => ask('openStartWebhook', accountId, new Uint8Array(secret)),
    deleteWebhook: (accountId, webhookId) => ask('deleteWebhook', accountId, webhookId),
    redeliver: (...args) => operate('redeliver', ...args),
    hasDueDelivery: async (claim) => reads.hasDueDelivery(claim),
    claimDeliveries: async (claim) => (await writer.submit('claimDeliveries', claim)).map(toClaimedDelivery),
    reportDelivery: (report) => writer.submit('reportDelivery', report),

    createUpload: (upload, maxStored) => ask('createUpload', upload, maxStored),
    getUpload: async (accountId, fileId) => reads.getUpload(accountId, fileId),
    deleteUpload: (accountId, fileId) => ask('deleteUpload', accountId, fileId),
    measureUploads: async (accountId) => reads.measureUploads(accountId),

    ...createProviderStore(writer, reads),

    hasExpired: async () => reads.hasExpired(),
    expireFiles: (limit) => writer.submit('expireFiles', limit),
    crossOff: (removals) => writer.submit('crossOff', removals),
    putOff: (removals) => writer.submit('putOff', removals),
    retryRemovals: () => writer.submit('retryRemovals'),
    forgetJobs: (command) => writer.submit('forgetJobs', command),
    hasFiles: async (folder) => reads.hasFiles(folder),
    findOwners: async (folders) => reads.findOwners(folders),

    recordAct: (draft, by) => operate('recordAct', draft, by),
    onAct: (listener) => subscribe(actListeners, listener),

    onNotification: (listener) => subscribe(listeners, listener),
    nowMs: () => clock.nowMs(),
    writeDelayMs: () => writer.behindMs(),
    check: () => within(checkMs, operate('check')),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** The lists, which accounts take turns to read. */
function createLists({ read }: Pick<LongReads, 'read'>, { list, walk }: ReadTurns, reports: ReadTurns) {
  const searches: SearchReads = {
    readPiece: (filter, before) => read('searchPiece', filter, before),
    listByNumber: (numbers) => read('listJobsByNumber', numbers),
  }
  return {
    listAccounts: (page) => list(null, () => read('listAccounts', page)),
    findAccounts: (name, limit) => list(null, () => read('findAccounts', name, limit)),
    listEntries: (accountId, page) => list(accountId, () => read('listEntries', accountId, page)),
    async listUsage(request) {
      const page = await reports.list(request.accountId, () => read('listUsage', request))
      if (page === 'too_slow') throw listTookTooLong(mostListMs, null)
      if (page === 'too_many') throw usageTooLarge()
      return page
    },
    listKeys: (accountId, page) => list(accountId, () => read('listKeys', accountId, page)),
    listSessions: (filter, page) => list(filter.accountId, () => read('listSessions', filter, page)),
    listBriefInputs: (accountId, jobIds) => list(accountId, () => read('listBriefInputs', jobIds)),
    listJobs: (filter) =>
      isSearch(filter)
        ? walk(filter.accountId, (turn) => searchJobs(searches, filter, turn))
        : list(filter.accountId, () => read('listJobs', filter)),
    listWebhooks: (accountId, page) => list(accountId, () => read('listWebhooks', accountId, page)),
    listDeliveries: (filter) => list(filter.accountId, () => read('listDeliveries', filter)),
    listUploads: (accountId, page) => list(accountId, () => read('listUploads', accountId, page)),
    listAuditEntries: (accountId, ...page) => list(accountId, () => read('listAuditEntries', accountId, ...page)),
  } satisfies Partial<Store>
}

/** Keys with their limits, and sessions. A change of this process takes effect in it at once. */
function createKeyStore(operate: GroupCommit['submit'], reads: Reads) {
  const clear = (): void => {
    reads.clearKeyCache()
    reads.clearSessionCache()
  }
  return {
    // A copy: a small Buffer may be a view of a large pool, all of which would be cloned.
    createKey: (key, by) => operate('createKey', { ...key, secretHash: new Uint8Array(key.secretHash) }, by),
    async revokeKey(keyId, by) {
      const key = await operate('revokeKey', keyId, by)
      clear()
      return key
    },
    async signIn(command) {
      const outcome = await operate('signIn', command)
      clear()
      return outcome
    },
    findSession: async (token) => reads.findSession(token),
    async revokeSession(sessionId, by) {
      const session = await operate('revokeSession', sessionId, by)
      clear()
      return session
    },
    async endSessions(keyId, withKeys, by) {
      const ended = await operate('endSessions', keyId, withKeys, by)
      clear()
      return ended
    },
    readmitPerson: (keyId, by) => operate('readmitPerson', keyId, by),
    async changeKeyLimits(keyId, change, by) {
      const key = await operate('changeKeyLimits', keyId, change, by)
      clear()
      return key
    },
    readBudgets: async (key) => reads.readBudgets(key),
    getKey: async (keyId) => reads.getKey(keyId),
    findKey: async (secret) => reads.findKey(secret),
    async changeAccountLimits(accountId, change, by) {
      const account = await operate('changeAccountLimits', accountId, change, by)
      clear()
      return account
    },
    async changeAccount(accountId, change, by) {
      const changed = await operate('changeAccount', accountId, change, by)
      clear()
      return changed
    },
  } satisfies Partial<Store>
}

/** Runs one step after the other, where there is something to do; commands submitted meanwhile run between them. */
async function sweep(
  writer: GroupCommit,
  reads: Pick<Reads, 'findSweepSteps'>,
  command: SweepCommand,
): Promise<SweepOutcome> {
  let swept = nothingSwept
  for (const step of reads.findSweepSteps(command)) swept = addSwept(swept, await writer.submit(step, command))
  return swept
}

/** Only a process that may lead writes; the others read. */
function createLeading(writer: GroupCommit, reads: Pick<Reads, 'judgeLead'>, name: string) {
  let leads = false
  return {
    async lead(leaseMs: number): Promise<boolean> {
      const judged = reads.judgeLead(name, leaseMs)
      if (judged !== 'take') return judged === 'mine'
      return (leads = await writer.submit('takeLead', name, leaseMs))
    },
    async stop(): Promise<void> {
      if (leads) await writer.submit('dropLead', name).catch(() => {})
    },
  }
}

/** Submits changes of clients and operators, unless the disk cannot keep up. Reports of workers are always accepted, since they end work. */
function submitInTime(writer: GroupCommit, maxQueuedWrites: number, maxQueueMs: number): GroupCommit['submit'] {
  return (name, ...args) => {
    if (writer.waiting() >= maxQueuedWrites) return Promise.reject(tooManyWrites(maxQueuedWrites))
    if (writer.behindMs() > maxQueueMs) return Promise.reject(diskBehind(maxQueueMs))
    return writer.submit(name, ...args)
  }
}

async function openReaderOrClose(path: string, writer: GroupCommit): Promise<Connection> {
  try {
    return openReader(path)
  } catch (error) {
    await writer.close()
    throw error
  }
}

/** A claimed job as it came across threads. */
export function toClaimedJob(row: ClaimedRow): ClaimedJob {
  const { input, additions, checkpoint, usagePrice, ...others } = row
  return {
    ...others,
    input: toRunInput({ input, additions }),
    checkpoint: checkpoint === null ? null : (JSON.parse(checkpoint) as JsonValue),
    usagePrice: usagePrice === null ? null : (JSON.parse(usagePrice) as UsagePrice),
  }
}
