// A pool of forked processes: tasks wait here for a free one, and their owners take turns; a process that died is replaced.

import { PooledProcess, type ProcessFailures } from './child.ts'

const checkMs = 100

/** The little that is needed of a logger; pino's fits. */
export interface Logger {
  warn(facts: object, message: string): void
}

export interface ProcessPoolOptions {
  /** The module that each process runs; it calls `serveTasks`. */
  readonly entry: URL
  /** Processes at most. */
  readonly size: number
  /** So many more while all of them are taken, for tasks of owners that have none. Default: 0. */
  readonly spare?: number
  /** A process that holds more is killed, and its task with it. */
  readonly maxRssBytes: number
  readonly failures: ProcessFailures
  readonly logger: Logger | null
}

/** One task for the pool. */
export interface Task<Request> {
  /** Sent as JSON. */
  readonly request: Request
  /** Whose task it is. Among those that wait, the owner who has the fewest processes is next. */
  readonly owner: string
  readonly signal: AbortSignal
  readonly onProgress: (fraction: number) => void
  /** A process that has had the task for so long is killed. Waiting for a free process does not count. */
  readonly timeout?: { readonly ms: number; readonly reason: Error }
  /** Called again and again while a process has the task; when it rejects, the process is killed and the task fails so. */
  readonly check?: () => Promise<void>
}

interface Waiting<Request, Result> {
  readonly task: Task<Request>
  readonly resolve: (result: Result) => void
  readonly reject: (error: Error) => void
}

/** Does tasks in forked processes, one each at a time. Processes are forked when first needed and kept. */
export class ProcessPool<Request extends object, Result> {
  readonly #options: ProcessPoolOptions
  readonly #children = new Set<PooledProcess>()
  /** Owners of the tasks that processes have, one entry for each task. */
  readonly #busy: string[] = []
  readonly #free: PooledProcess[] = []
  readonly #waiting: Waiting<Request, Result>[] = []
  /** Why tasks were aborted and processes ended on purpose: nobody is warned of those. */
  readonly #aborts = new WeakSet<Error>()
  #closed = false
  #onLastGone: (() => void) | null = null

  constructor(options: ProcessPoolOptions) {
    this.#options = options
  }

  /** Pids of the live processes. */
  get pids(): number[] {
    return [...this.#children].flatMap((child) => child.pid ?? [])
  }

  /** Forks a first process, so that the first task need not wait for it. */
  warm(): void {
    if (!this.#closed && this.#children.size === 0) this.#free.push(this.#fork())
  }

  /**
   * Does a task as soon as a process is free. An abort takes it out of the queue, or kills the process that has it.
   * @throws EngineError from the process; the signal's reason when aborted; another error when the process broke.
   */
  run(task: Task<Request>): Promise<Result> {
    if (this.#closed) return Promise.reject(new Error('The pool of processes is closed'))
    if (task.signal.aborted) return Promise.reject(abortReason(task.signal))
    return new Promise((resolve, reject) => {
      const waiting: Waiting<Request, Result> = { task, resolve, reject }
      this.#waiting.push(waiting)
      // Once the task has left the queue, #start listens.
      task.signal.addEventListener('abort', () => this.#removeWaiting(waiting, abortReason(task.signal)), {
        once: true,
      })
      this.#startNext()
    })
  }

  /** Kills every process and waits until they are gone; tasks that ran or waited fail. */
  async close(): Promise<void> {
    this.#closed = true
    const reason = new Error('The pool of processes was closed')
    for (const waiting of this.#waiting.splice(0)) waiting.reject(reason)
    if (this.#children.size === 0) return
    const gone = new Promise<void>((resolve) => (this.#onLastGone = resolve))
    for (const child of this.#children) child.kill(reason)
    await gone
  }

  #removeWaiting(waiting: Waiting<Request, Result>, reason: Error): void {
    const index = this.#waiting.indexOf(waiting)
    if (index < 0) return
    this.#waiting.splice(index, 1)
    waiting.reject(reason)
  }

  #startNext(): void {
    for (let next = this.#findNext(); next !== undefined; next = this.#findNext()) {
      const child = this.#takeFree() ?? (this.#children.size < this.#most ? this.#fork() : undefined)
      if (!child) return
      this.#waiting.splice(this.#waiting.indexOf(next), 1)
      void this.#start(child, next)
    }
  }

  get #most(): number {
    return this.#options.size + (this.#options.spare ?? 0)
  }

  /** The task that may start now, if there is one: the first of those whose owner has the fewest processes. */
  #findNext(): Waiting<Request, Result> | undefined {
    if (this.#waiting.length === 0 || this.#busy.length >= this.#most) return undefined
    const held = new Map<string, number>()
    for (const owner of this.#busy) held.set(owner, (held.get(owner) ?? 0) + 1)
    const heldBy = ({ task }: Waiting<Request, Result>): number => held.get(task.owner) ?? 0
    const next = this.#waiting.reduce((first, other) => (heldBy(other) < heldBy(first) ? other : first))
    // Nothing is taken from whoever has it: where long tasks of one owner have all processes, there is a spare one for another.
    return this.#busy.length < this.#options.size || heldBy(next) === 0 ? next : undefined
  }

  #takeFree(): PooledProcess | undefined {
    let child = this.#free.pop()
    while (child?.dying) child = this.#free.pop()
    return child
  }

  async #start(child: PooledProcess, { task, resolve, reject }: Waiting<Request, Result>): Promise<void> {
    this.#busy.push(task.owner)
    const onAbort = (): void => {
      const reason = abortReason(task.signal)
      this.#aborts.add(reason)
      child.kill(reason)
    }
    task.signal.addEventListener('abort', onAbort, { once: true })
    const { timeout } = task
    const timer = timeout && setTimeout(() => child.kill(timeout.reason), timeout.ms)
    const stopChecking = task.check && checkAgain(task.check, (reason) => child.kill(reason))
    try {
      resolve((await child.perform(task.request, task.onProgress)) as Result)
    } catch (error) {
      reject(error as Error)
    } finally {
      task.signal.removeEventListener('abort', onAbort)
      clearTimeout(timer)
      stopChecking?.()
      this.#busy.splice(this.#busy.indexOf(task.owner), 1)
      this.#release(child)
    }
  }

  #release(child: PooledProcess): void {
    // What native allocators keep after a big task is only given back by ending the process.
    if (child.rssBytes > this.#options.maxRssBytes / 2)
      child.kill(new Error('Replaced: it held much memory after its task'))
    else if (this.#children.has(child) && !child.dying) this.#free.push(child)
    this.#startNext()
    // A spare process is for its task alone.
    if (this.#children.size > this.#options.size) this.#end(this.#takeFree())
  }

  #end(child: PooledProcess | undefined): void {
    const reason = new Error('No longer needed')
    this.#aborts.add(reason)
    child?.kill(reason)
  }

  #fork(): PooledProcess {
    const child = new PooledProcess({
      entry: this.#options.entry,
      maxRssBytes: this.#options.maxRssBytes,
      failures: this.#options.failures,
      onExit: (gone, why, wasReady) => this.#onExit(gone, why, wasReady),
    })
    this.#children.add(child)
    return child
  }

  #onExit(child: PooledProcess, why: Error, wasReady: boolean): void {
    this.#children.delete(child)
    const index = this.#free.indexOf(child)
    if (index >= 0) this.#free.splice(index, 1)
    if (this.#closed) {
      if (this.#children.size === 0) this.#onLastGone?.()
      return
    }
    if (!this.#aborts.has(why)) this.#options.logger?.warn({ pid: child.pid, err: why }, 'a forked process ended')
    this.#startNext()
    // Keeps the pool warm; a process that cannot even start is only tried again by the next task.
    if (wasReady && this.#children.size < this.#options.size) this.#free.push(this.#fork())
  }
}

/** Checks again and again, one check at a time, until one rejects or the returned function is called. */
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
