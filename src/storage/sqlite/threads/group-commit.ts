// The main thread's side of the writer thread. Commands of one turn of the event loop are sent in one message, run in one
// transaction, and are answered when it is durable.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AuditEntry } from '../../../core/accounts/audit.ts'
import type { Clock } from '../../../core/clock.ts'
import { StartupError } from '../../../core/errors.ts'
import type { JobNotification, NotificationListener } from '../../../core/store.ts'
import { StorageError } from '../../storage-error.ts'
import type { Failure, SentAnswer } from './batch.ts'
import type { Call, CommandName, Commands } from './commands.ts'
import type { Thread } from './threads.ts'

/** One command on its way to the writer. */
export type Submission = Call & { readonly id: number }

export type ToWriter =
  | { readonly kind: 'commands'; readonly nowMs: number; readonly submissions: readonly Submission[] }
  | { readonly kind: 'close' }

export type FromWriter =
  /** Another process has changed something. */
  | { readonly kind: 'elsewhere' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'refused'; readonly failure: Failure; readonly startup: boolean }
  | {
      readonly kind: 'answers'
      readonly answers: readonly SentAnswer[]
      readonly changed: readonly JobNotification[]
      readonly acted: readonly AuditEntry[]
    }

/** The first message to the writer thread: the database that it opens. */
export interface WriterOptions {
  readonly path: string
  /** Whether to create a missing file and to migrate it to the current schema. */
  readonly migrates: boolean
  readonly nowMs: number
}

/** Callbacks for each answered group of commands, and for changes by other processes. */
export interface CommitListener {
  readonly onNotification: NotificationListener
  onActs(entries: readonly AuditEntry[]): void
}

/** The connection to the writer thread. */
export interface GroupCommit {
  /** Resolves when the command is durable. @throws StorageError */
  submit<Name extends CommandName>(name: Name, ...args: Parameters<Commands[Name]>): Promise<ReturnType<Commands[Name]>>
  /** Number of commands without an answer. */
  waiting(): number
  /** How long the oldest command without an answer has waited, in milliseconds; 0 when there is none. */
  behindMs(): number
  /** Lets the writer finish what was submitted, calls `onAnswered`, then ends the writer: its connection is the last to close. */
  close(onAnswered?: () => void): Promise<void>
}

/** Commands that were sent together. */
interface Group {
  readonly lastId: number
  readonly submittedMs: number
}

interface Waiter {
  resolve(value: unknown): void
  reject(error: Error): void
}

/**
 * Opens the database in the writer thread.
 * @param worker the thread; a test may pass one that fails
 * @param monotonicMs a monotonic clock
 * @throws StartupError
 */
export async function openGroupCommit(
  file: Omit<WriterOptions, 'nowMs'>,
  clock: Clock,
  listener: CommitListener,
  worker: Thread,
  monotonicMs: () => number = () => performance.now(),
): Promise<GroupCommit> {
  worker.ref()
  worker.postMessage({ ...file, nowMs: clock.nowMs() } satisfies WriterOptions)
  // All listeners are added before the thread can send anything: its last message arrives together with its exit.
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  const greeted = new Promise<FromWriter>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the storage writer ended before it was ready')))
  })
  const groupCommit = createGroupCommit(worker, exited, clock, listener, monotonicMs)
  const greeting = await greeted
  if (greeting.kind === 'refused') {
    await exited
    throw greeting.startup ? new StartupError(greeting.failure.message) : toStorageError(greeting.failure)
  }
  worker.unref()
  return groupCommit
}

function createGroupCommit(
  worker: Thread,
  exited: Promise<void>,
  clock: Clock,
  listener: CommitListener,
  monotonicMs: () => number,
): GroupCommit {
  const waiters = new Map<number, Waiter>()
  // Commands without an answer, oldest first.
  const groups: Group[] = []
  let submissions: Submission[] = []
  let submittedMs = 0
  let lastId = 0
  let stopped: Error | null = null
  let closing: Promise<void> | null = null
  let idle = (): void => {}

  function flush(): void {
    if (submissions.length === 0 || stopped !== null) return
    const sent = submissions
    submissions = []
    groups.push({ lastId, submittedMs })
    try {
      worker.postMessage({ kind: 'commands', nowMs: clock.nowMs(), submissions: sent } satisfies ToWriter)
    } catch (error) {
      groups.pop()
      for (const { id } of sent)
        takeWaiter(id)?.reject(new StorageError('a command holds what cannot be stored', null, { cause: error }))
    }
  }

  function takeWaiter(id: number): Waiter | undefined {
    const waiter = waiters.get(id)
    waiters.delete(id)
    if (waiters.size === 0) idle()
    // An idle store does not keep the process alive.
    if (waiters.size === 0 && closing === null) worker.unref()
    return waiter
  }

  function stop(reason: Error): void {
    if (stopped !== null) return
    stopped = reason
    submissions = []
    groups.length = 0
    for (const { reject } of waiters.values()) reject(reason)
    waiters.clear()
    idle()
  }

  worker.on('message', (message: FromWriter) => {
    if (message.kind === 'elsewhere') listener.onNotification(null)
    if (message.kind !== 'answers') return
    for (const answer of message.answers) {
      const waiter = takeWaiter(answer.id)
      if (answer.ok) waiter?.resolve(answer.value)
      else waiter?.reject(toStorageError(answer.error))
    }
    // All commands of a group are answered together.
    const answeredId = message.answers.at(-1)?.id ?? 0
    while (groups[0] && groups[0].lastId <= answeredId) groups.shift()
    if (message.changed.length > 0) listener.onNotification(message.changed)
    if (message.acted.length > 0) listener.onActs(message.acted)
  })
  worker.on('error', (error) => stop(new StorageError('the storage writer has died', null, { cause: error })))
  worker.on('messageerror', (error) =>
    stop(new StorageError('the storage writer cannot be understood', null, { cause: error })),
  )
  worker.on('exit', () =>
    stop(new StorageError(closing === null ? 'the storage writer has ended' : 'the store is closed', null)),
  )

  return {
    submit(name, ...args) {
      if (stopped !== null || closing !== null)
        return Promise.reject(stopped ?? new StorageError('the store is closed', null))
      return new Promise((resolve, reject) => {
        if (waiters.size === 0) worker.ref()
        const id = (lastId += 1)
        waiters.set(id, { resolve, reject })
        if (submissions.push({ id, name, args }) > 1) return
        submittedMs = monotonicMs()
        setImmediate(flush)
      })
    },
    waiting: () => waiters.size,
    behindMs() {
      const [oldest] = groups
      return oldest ? monotonicMs() - oldest.submittedMs : 0
    },
    close(onAnswered = () => {}) {
      closing ??= (async () => {
        flush()
        worker.ref()
        // Callers that were just answered may read once more before the reader closes.
        if (waiters.size > 0) await new Promise<void>((resolve) => (idle = resolve))
        await nextTurn()
        onAnswered()
        if (stopped !== null) return
        worker.postMessage({ kind: 'close' } satisfies ToWriter)
        await exited
      })()
      return closing
    },
  }
}

/** The error of a command or a read in another thread. */
export function toStorageError({ message, code, stack }: Failure): StorageError {
  // Keeps the stack of the other thread, which shows where it happened; the one here would only show that an answer arrived.
  return new StorageError(message, code, { cause: stack })
}
