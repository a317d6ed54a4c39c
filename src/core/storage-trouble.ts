// Recognises errors of a disk, a database or a store of files that cannot be written to until an operator acts.
import { MediagenError } from './errors.ts'

// Full, read-only, locked, failing, out of connections or file descriptors, or not to be reached: codes of SQLite and PostgreSQL, and
// of the system and an object store.
const databaseTrouble =
  /^(SQLITE_(FULL|IOERR|READONLY|BUSY|CANTOPEN|PROTOCOL)|(DATABASE_LOST|DATABASE_DOUBT|5[378]...|25006|40001|40P01)$)/
const filesTrouble = /^(ENOSPC|EDQUOT|EROFS|EIO|EMFILE|ENFILE|BLOBS_UNAVAILABLE)$/
// A broken rule, or a value that cannot be stored. Triggers of PostgreSQL raise P0001.
const refusedForGood = /^(SQLITE_(CONSTRAINT|TOOBIG|MISMATCH)|(22|23|54)...$|P0001$)/
const retryAfterSeconds = 5
const retryBehindSeconds = 2
const lostOnTheWay =
  'The database was lost while it made this change, and may have made it. A start may be sent again with the same Idempotency-Key; look at what became of any other change before you repeat it.'
const sendAgain = 'Nothing was held; send the request again later, with the same Idempotency-Key.'

/** Whether `thrown`, an error with a `code`, says that one of them is in trouble. Anything else is a bug. */
export function isStorageTrouble(thrown: unknown): boolean {
  return isDatabaseTrouble(thrown) || filesTrouble.test(readCode(thrown))
}

/** The same for the database alone: it could not do now what was requested, for example on a full disk. */
export function isDatabaseTrouble(thrown: unknown): boolean {
  return databaseTrouble.test(readCode(thrown))
}

/** Whether `thrown` says that the database cannot be reached at all. */
export function isDatabaseAway(thrown: unknown): boolean {
  return /^DATABASE_(LOST|DOUBT)$/.test(readCode(thrown))
}

/** Whether `thrown` says that the database refuses a change for good: repeated, it would fail again. */
export function isRefusedForGood(thrown: unknown): boolean {
  return refusedForGood.test(readCode(thrown))
}

/** The refusal of a request that met such trouble. */
export function storageUnavailable(cause: unknown): MediagenError {
  return new MediagenError(
    'storage_unavailable',
    readCode(cause) === 'DATABASE_DOUBT'
      ? lostOnTheWay
      : `The disk, the database or the file store of this server cannot be used right now. ${sendAgain}`,
    { retryAfterSeconds },
    { cause },
  )
}

/** The refusal of a change while earlier changes wait too long for the disk. */
export function diskBehind(maxQueueMs: number): MediagenError {
  return new MediagenError(
    'overloaded',
    `The disk of this server cannot keep up: changes wait too long for it (MEDIAGEN_MAX_QUEUE_MS, ${maxQueueMs}). ${sendAgain}`,
    { retryAfterSeconds: retryBehindSeconds },
  )
}

/** The refusal of a change while the queue for the disk is full. */
export function tooManyWrites(maxQueuedWrites: number): MediagenError {
  return new MediagenError(
    'storage_unavailable',
    `The disk of this server cannot keep up: too many changes wait for it already (MEDIAGEN_MAX_QUEUED_WRITES, ${maxQueuedWrites}). ${sendAgain}`,
    { retryAfterSeconds },
  )
}

/** The refusal of a list while the queue of list reads is full. */
export function tooManyReads(maxQueuedReads: number): MediagenError {
  return new MediagenError(
    'overloaded',
    `This server is overloaded: too many lists wait to be read already (MEDIAGEN_MAX_QUEUED_READS, ${maxQueuedReads}). Send the request again later.`,
    { retryAfterSeconds: retryBehindSeconds },
  )
}

/** The refusal of a list that the database gave up, after `mostMs` or because an operator ended it. */
export function listTookTooLong(mostMs: number, cause: unknown): MediagenError {
  return new MediagenError(
    'overloaded',
    `This list takes too long to read and was ended (lists may take ${mostMs / 1000} s). Narrow it: ask for a smaller offset, or name a filter where the list has one, such as the status or the model of jobs, or the days of the usage. Sent again as it is, it may be ended again.`,
    { retryAfterSeconds },
    { cause },
  )
}

function readCode(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
}
