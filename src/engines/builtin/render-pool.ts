// The pool of render processes: jobs wait here for a free one; a process that died is replaced.

import type { EngineResult } from '../../core/engine.ts'
import type { RenderRequest } from './messages.ts'
import { RenderChild } from './render-child.ts'

/** The little that is needed of a logger; pino's fits. */
export interface Logger {
  warn(facts: object, message: string): void
}

export interface RenderPoolOptions {
  /** The module that each process runs. */
  readonly entry: URL
  /** Processes at most. */
  readonly size: number
  /** A process that holds more is killed, and its job with it. */
  readonly maxRssBytes: number
  readonly logger: Logger | null
}

/** One job for the pool. */
export interface RenderJob {
  readonly request: RenderRequest
  readonly signal: AbortSignal
  readonly onProgress: (fraction: number) => void
}

interface Waiting {
  readonly job: RenderJob
  readonly resolve: (result: EngineResult) => void
  readonly reject: (error: Error) => void
}

/** Renders jobs in forked processes, one job each at a time. Processes are forked when first needed and kept. */
export class RenderPool {
  readonly #options: RenderPoolOptions
  readonly #children = new Set<RenderChild>()
  readonly #free: RenderChild[] = []
  readonly #waiting: Waiting[] = []
  #closed = false
  #onLastGone: (() => void) | null = null

  constructor(options: RenderPoolOptions) {
    this.#options = options
  }

  /** Pids of the live processes. */
  get pids(): number[] {
    return [...this.#children].flatMap((child) => child.pid ?? [])
  }

  /** Forks a first process, so that the first job need not wait for it. */
  warm(): void {
    if (!this.#closed && this.#children.size === 0) this.#free.push(this.#fork())
  }

  /**
   * Renders a job as soon as a process is free. An abort takes it out of the queue, or kills the process that has it.
   * @throws EngineError from the renderer; the signal's reason when aborted; another error when the renderer broke.
   */
  run(job: RenderJob): Promise<EngineResult> {
    if (this.#closed) return Promise.reject(new Error('The pool of render processes is closed'))
    if (job.signal.aborted) return Promise.reject(abortReason(job.signal))
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { job, resolve, reject }
      this.#waiting.push(waiting)
      // Once the job has left the queue, #start listens.
      job.signal.addEventListener('abort', () => this.#removeWaiting(waiting, abortReason(job.signal)), { once: true })
      this.#startNext()
    })
  }

  /** Kills every process and waits until they are gone; jobs that ran or waited fail. */
  async close(): Promise<void> {
    this.#closed = true
    const reason = new Error('The pool of render processes was closed')
    for (const waiting of this.#waiting.splice(0)) waiting.reject(reason)
    if (this.#children.size === 0) return
    const gone = new Promise<void>((resolve) => (this.#onLastGone = resolve))
    for (const child of this.#children) child.kill(reason)
    await gone
  }

  #removeWaiting(waiting: Waiting, reason: Error): void {
    const index = this.#waiting.indexOf(waiting)
    if (index < 0) return
    this.#waiting.splice(index, 1)
    waiting.reject(reason)
  }

  #startNext(): void {
    while (this.#waiting.length > 0) {
      const child = this.#takeFree() ?? (this.#children.size < this.#options.size ? this.#fork() : undefined)
      const waiting = child && this.#waiting.shift()
      if (!child || !waiting) return
      void this.#start(child, waiting)
    }
  }

  #takeFree(): RenderChild | undefined {
    let child = this.#free.pop()
    while (child?.dying) child = this.#free.pop()
    return child
  }

  async #start(child: RenderChild, { job, resolve, reject }: Waiting): Promise<void> {
    const onAbort = (): void => child.kill(abortReason(job.signal))
    job.signal.addEventListener('abort', onAbort, { once: true })
    try {
      resolve(await child.render(job.request, job.onProgress))
    } catch (error) {
      reject(error as Error)
    } finally {
      job.signal.removeEventListener('abort', onAbort)
      this.#release(child)
    }
  }

  #release(child: RenderChild): void {
    // What native allocators keep after a big job is only given back by ending the process.
    if (child.rssBytes > this.#options.maxRssBytes / 2)
      child.kill(new Error('Replaced: it held much memory after its job'))
    else if (this.#children.has(child) && !child.dying) this.#free.push(child)
    this.#startNext()
  }

  #fork(): RenderChild {
    const child = new RenderChild({
      entry: this.#options.entry,
      maxRssBytes: this.#options.maxRssBytes,
      onExit: (gone, why, wasReady) => this.#onExit(gone, why, wasReady),
    })
    this.#children.add(child)
    return child
  }

  #onExit(child: RenderChild, why: Error, wasReady: boolean): void {
    this.#children.delete(child)
    const index = this.#free.indexOf(child)
    if (index >= 0) this.#free.splice(index, 1)
    if (this.#closed) {
      if (this.#children.size === 0) this.#onLastGone?.()
      return
    }
    this.#options.logger?.warn({ pid: child.pid, err: why }, 'a render process ended')
    this.#startNext()
    // Keeps the pool warm; a process that cannot even start is only tried again by the next job.
    if (wasReady && this.#children.size < this.#options.size) this.#free.push(this.#fork())
  }
}

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('The render was aborted')
}
