// A pool of forked processes: tasks wait for a free one, their owners take turns, and a dead process is replaced.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PooledProcess, type ProcessFailures } from './child.ts'
import { fillCodeCache, findCodeCache } from './code-cache.ts'
import { type Containment, type KernelLimits, uncontained } from './containment.ts'
import type { ProcessRights } from './permissions.ts'
import { emptyFolders, type ProcessFolders } from './process-folders.ts'

const checkMs = 100
// People come back to a picture within this; a process begins again in well under a second.
const usualIdleMs = 120_000
// Why a process ends that has nothing to do.
const unneeded = new Error('No longer needed')
// Memory that threads and allocators of Node and WebAssembly reserve beyond resident memory: about 2 GB.
const reservedBytes = 4 * 1024 ** 3

/** The methods of a logger that the pool uses; pino has them. */
export interface Logger {
  warn(facts: object, message: string): void
}

export interface ProcessPoolOptions {
  /** What each process may do; its entry calls `serveTasks`. */
  readonly rights: ProcessRights
  /** Parent of the folders of the processes; created when first needed, removed by `close`. Default: a temporary folder. */
  readonly folder?: string | undefined
  /** How the system contains processes; none is forked before this is known. Default: not at all. */
  readonly containment?: (() => Promise<Containment>) | undefined
  /** Limits of each process, if the containment has limits. */
  readonly limits?: Partial<KernelLimits>
  /** Maximum number of processes. */
  readonly size: number
  /** Additional processes while all are busy, for tasks of owners that have none. Default: 0. */
  readonly spare?: number
  /** A process without a task for so long is ended; the next task forks another. Default: two minutes. */
  readonly idleMs?: number
  /** A process that exceeds this is killed, and its task fails. */
  readonly maxRssBytes: number
  readonly failures: ProcessFailures
  readonly logger: Logger | null
}

/** One task for the pool. */
export interface Task<Request, Result> {
  /** Puts the files for the process into its input folder, and returns the message to send, as JSON. */
  readonly request: (folders: ProcessFolders) => Request | Promise<Request>
  /** Takes files from the output folder, which is emptied afterwards, and returns the result. */
  readonly collect?: (result: Result, folders: ProcessFolders) => Promise<Result>
  /** Owner of the task. The waiting owner with the fewest processes is next. */
  readonly owner: string
  readonly signal: AbortSignal
  readonly onProgress: (fraction: number) => void
  /** Called with the name of a draft in the output folder, which may be shown during the task; the process chooses the name. */
  readonly onDraft?: (file: string, folders: ProcessFolders) => void
  /** Time limit; the process is then killed. Waiting for a free process does not count. */
  readonly timeout?: { readonly ms: number; readonly reason: () => Error }
  /** Called repeatedly while a process has the task; if it rejects, the process is killed and the task fails with that error. */
  readonly check?: (folders: ProcessFolders) => Promise<void>
}

interface Waiting<Request, Result> {
  readonly task: Task<Request, Result>
  /** The process that has the task; null while it waits for one. */
  child: PooledProcess | null
  /** Listens to the task's signal. */
  readonly onAbort: () => void
  readonly resolve: (result: Result) => void
  readonly reject: (error: Error) => void
}

/** Number of processes of all pools so far; gives each its own folder. */
let forkedEver = 0

/** A process that waits for a task, and what ends it if none comes. */
interface Free {
  readonly child: PooledProcess
  readonly timer: NodeJS.Timeout
}

/** Runs tasks in forked processes, one each at a time. Processes are forked on demand, and kept until they have been idle for long. */
export class ProcessPool<Request extends object, Result> {
  readonly #options: ProcessPoolOptions
  readonly #children = new Set<PooledProcess>()
  /** Owners of the running tasks, one entry per task. */
  readonly #busy: string[] = []
  readonly #free: Free[] = []
  readonly #waiting: Waiting<Request, Result>[] = []
  /** Reasons of intended aborts, which are not logged as warnings. */
  readonly #aborts = new WeakSet<Error>()
  #closed = false
  #containment: Containment | null = null
  /** Whether to fork a process as soon as the containment is known. */
  #isWarm = false
  /** Ends when the containment is known. */
  #preparing: Promise<void> | null = null
  #folder: string | null = null
  #onLastGone: (() => void) | null = null

  constructor(options: ProcessPoolOptions) {
    this.#options = options
    if (!options.containment) this.#containment = uncontained
  }

  /** Finds out how processes are contained here; once, when a process is first needed. */
  #prepare(): void {
    if (this.#preparing !== null || this.#containment !== null) return
    const { containment, rights, logger } = this.#options
    const find = async (): Promise<Containment> => {
      const found = (await containment?.()) ?? uncontained
      const cache = findCodeCache(found.user)
      if (cache !== null && found.user) void fillCodeCache(cache, rights.entry, found.user).catch(() => {})
      return found
    }
    this.#preparing = find()
      .catch((error: unknown) => {
        logger?.warn({ err: error }, 'forked processes are not contained')
        return uncontained
      })
      .then(
        (found) => {
          this.#containment = found
          if (this.#isWarm) this.warm()
          this.#startNext()
        },
        () => {},
      )
  }

  /** Pids of the live processes. */
  get pids(): number[] {
    return [...this.#children].flatMap((child) => child.pid ?? [])
  }

  /** Forks a first process in advance, so the first task does not wait for it. */
  warm(): void {
    this.#isWarm = true
    this.#prepare()
    if (!this.#closed && this.#children.size === 0) this.#forkAhead()
  }

  /**
   * Runs a task as soon as a process is free. An abort removes it from the queue, or kills its process.
   * @throws EngineError from the process; the signal's reason if aborted; another error if the process broke.
   */
  run(task: Task<Request, Result>): Promise<Result> {
    if (this.#closed) return Promise.reject(new Error('The pool of processes is closed'))
    if (task.signal.aborted) return Promise.reject(abortReason(task.signal))
    return new Promise((resolve, reject) => {
      const onAbort = (): void => this.#abort(waiting)
      const waiting: Waiting<Request, Result> = { task, child: null, onAbort, resolve, reject }
      this.#waiting.push(waiting)
      this.#prepare()
      task.signal.addEventListener('abort', onAbort, { once: true })
      this.#startNext()
    })
  }

  #abort(waiting: Waiting<Request, Result>): void {
    const reason = abortReason(waiting.task.signal)
    if (waiting.child === null) return this.#removeWaiting(waiting, reason)
    this.#aborts.add(reason)
    waiting.child.kill(reason)
  }

  /** Kills every process and waits until they have ended; running and waiting tasks fail. */
  async close(): Promise<void> {
    this.#closed = true
    const reason = new Error('The pool of processes was closed')
    if (this.#children.size > 0) {
      const gone = new Promise<void>((resolve) => (this.#onLastGone = resolve))
      for (const child of this.#children) child.kill(reason)
      await gone
    }
    for (const waiting of this.#waiting.splice(0)) waiting.reject(reason)
    // The trial of containments uses folders beside ours, which may be removed after `close`.
    await this.#preparing
    // All processes have removed their folders.
    if (this.#folder !== null) rmSync(this.#folder, { recursive: true, force: true })
  }

  #removeWaiting(waiting: Waiting<Request, Result>, reason: Error): void {
    const index = this.#waiting.indexOf(waiting)
    if (index < 0) return
    this.#waiting.splice(index, 1)
    waiting.reject(reason)
  }

  #startNext(): void {
    for (let next = this.#findNext(); next !== undefined; next = this.#findNext()) {
      let child: PooledProcess | undefined
      try {
        child = this.#takeFree() ?? (this.#children.size < this.#most ? this.#fork() : undefined)
      } catch (cause) {
        this.#removeWaiting(next, this.#options.failures.crashed((cause as Error).message, { cause }))
        continue
      }
      if (!child) return
      this.#waiting.splice(this.#waiting.indexOf(next), 1)
      void this.#start(child, next)
    }
  }

  get #most(): number {
    return this.#options.size + (this.#options.spare ?? 0)
  }

  /** The next task that may start, if any: the first of the owner with the fewest processes. */
  #findNext(): Waiting<Request, Result> | undefined {
    if (this.#closed || this.#waiting.length === 0 || this.#busy.length >= this.#most) return undefined
    const held = new Map<string, number>()
    for (const owner of this.#busy) held.set(owner, (held.get(owner) ?? 0) + 1)
    let next: Waiting<Request, Result> | undefined
    let fewest = Number.POSITIVE_INFINITY
    for (const waiting of this.#waiting) {
      const holds = held.get(waiting.task.owner) ?? 0
      if (holds < fewest) [next, fewest] = [waiting, holds]
      if (holds === 0) break
    }
    // Running tasks are not preempted; if long tasks of one owner have all processes, an idle process serves another owner.
    return this.#busy.length < this.#options.size || fewest === 0 ? next : undefined
  }

  #takeFree(): PooledProcess | undefined {
    for (let free = this.#free.pop(); free; free = this.#free.pop()) {
      clearTimeout(free.timer)
      if (!free.child.dying) return free.child
    }
    return undefined
  }

  /** Keeps a process for the next task. It ends in the step that takes it from the free ones, so no task can get it then. */
  #keep(child: PooledProcess): void {
    const timer = setTimeout(() => {
      this.#forget(child)
      child.kill(unneeded)
    }, this.#options.idleMs ?? usualIdleMs)
    this.#free.push({ child, timer: timer.unref() })
  }

  /** Takes a process from the free ones, if it is one of them. */
  #forget(child: PooledProcess): void {
    const index = this.#free.findIndex((free) => free.child === child)
    if (index < 0) return
    clearTimeout(this.#free[index]?.timer)
    this.#free.splice(index, 1)
  }

  async #start(child: PooledProcess, waiting: Waiting<Request, Result>): Promise<void> {
    const { task, onAbort, resolve, reject } = waiting
    waiting.child = child
    this.#busy.push(task.owner)
    const tell = await this.#perform(child, task).then(
      (result) => () => resolve(result),
      // A failure while the process is being killed has the reason of the kill.
      (error: Error) => () => reject(child.killedBecause ?? error),
    )
    task.signal.removeEventListener('abort', onAbort)
    await this.#empty(child)
    this.#busy.splice(this.#busy.indexOf(task.owner), 1)
    this.#release(child)
    tell()
  }

  async #perform(child: PooledProcess, task: Task<Request, Result>): Promise<Result> {
    const { folders } = child
    const request = await task.request(folders)
    const { timeout, check } = task
    const timer = timeout && setTimeout(() => child.kill(timeout.reason()), timeout.ms)
    const stopChecking =
      check &&
      checkAgain(
        () => check(folders),
        (reason) => child.kill(reason),
      )
    try {
      const result = (await child.perform(request, {
        onProgress: task.onProgress,
        onDraft: task.onDraft && ((file) => task.onDraft?.(file, folders)),
      })) as Result
      return task.collect ? await task.collect(result, folders) : result
    } finally {
      clearTimeout(timer)
      stopChecking?.()
    }
  }

  /** Removes everything that a task has left. */
  async #empty(child: PooledProcess): Promise<void> {
    if (child.dying) return
    if (this.#options.rights.startsPrograms && child.hasPrograms)
      child.kill(new Error('Replaced: it left programs behind'))
    else if (!(await emptyFolders(child.folders).catch(() => false)))
      child.kill(new Error('Replaced: its folders could not be emptied'))
  }

  #release(child: PooledProcess): void {
    // Native allocators return memory after a big task only when the process ends.
    if (child.rssBytes > this.#options.maxRssBytes / 2)
      child.kill(new Error('Replaced: it held much memory after its task'))
    else if (this.#children.has(child) && !child.dying) this.#keep(child)
    this.#startNext()
    // A reserved process is for its task alone.
    if (this.#children.size > this.#options.size) this.#takeFree()?.kill(unneeded)
  }

  /** Forks a process before it is needed, if it can be. */
  #forkAhead(): void {
    try {
      const child = this.#fork()
      if (child) this.#keep(child)
    } catch (error) {
      this.#options.logger?.warn({ err: error }, 'a process could not be forked')
    }
  }

  /**
   * Undefined as long as it is not known how processes are contained.
   * @throws the system's error if its folders cannot be made, as on a full disk
   */
  #fork(): PooledProcess | undefined {
    if (this.#containment === null) return undefined
    this.#folder ??= this.#options.folder ?? mkdtempSync(join(tmpdir(), 'mediagen-processes-'))
    const child = new PooledProcess({
      rights: this.#options.rights,
      containment: this.#containment,
      limits: { ...this.#usualLimits(), ...this.#options.limits },
      folder: join(this.#folder, String((forkedEver += 1))),
      maxRssBytes: this.#options.maxRssBytes,
      failures: this.#options.failures,
      onExit: (gone, why, wasReady) => this.#onExit(gone, why, wasReady),
    })
    this.#children.add(child)
    return child
  }

  #usualLimits(): KernelLimits {
    return { openFiles: 512, tasks: 256, fileBytes: 2 ** 31, memoryBytes: this.#options.maxRssBytes + reservedBytes }
  }

  #onExit(child: PooledProcess, why: Error, wasReady: boolean): void {
    this.#children.delete(child)
    this.#forget(child)
    if (this.#closed) {
      if (this.#children.size === 0) this.#onLastGone?.()
      return
    }
    const isUnneeded = why === unneeded
    if (!isUnneeded && !this.#aborts.has(why))
      this.#options.logger?.warn({ pid: child.pid, err: why }, 'a forked process ended')
    this.#startNext()
    // Keeps the pool warm; a process that fails to start is retried only by the next task.
    if (wasReady && !isUnneeded && this.#children.size < this.#options.size) this.#forkAhead()
  }
}

/** Checks repeatedly, one check at a time, until one rejects or the returned function is called. */
function checkAgain(check: () => Promise<void>, onRejected: (reason: Error) => void): () => void {
  let stopped = false
  let timer = setTimeout(look, checkMs)
  function look(): void {
    check().then(
      () => {
        if (!stopped) timer = setTimeout(look, checkMs)
      },
      (reason: Error) => {
        if (!stopped) onRejected(reason)
      },
    )
  }
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('The task was aborted')
}
