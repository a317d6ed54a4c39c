// One forked process as the server sees it: starts it, gives it a task, watches its memory, kills it.

import { type ChildProcess, fork, type Serializable } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { EngineError } from '../core/engine.ts'
import { readRssBytes } from './memory.ts'
import type { Reply } from './messages.ts'

const memoryCheckMs = 250
const stderrTailChars = 2000

/** Which errors tell the owner of a job what became of the process that had it. */
export interface ProcessFailures {
  /** It held more memory than it may. */
  outOfMemory(limitBytes: number): EngineError
  /** It ended of its own accord; `how` names its exit status or signal, the cause is what it said last. */
  crashed(how: string, options: ErrorOptions): EngineError
}

export interface PooledProcessOptions {
  /** The module that the process runs; it calls `serveTasks`. */
  readonly entry: URL
  /** A process that holds more is killed, and its task with it. */
  readonly maxRssBytes: number
  readonly failures: ProcessFailures
  /** Called once, when the process is gone for whatever reason; `wasReady` tells whether it ever came up. */
  readonly onExit: (child: PooledProcess, why: Error, wasReady: boolean) => void
}

interface Assignment {
  readonly onProgress: (fraction: number) => void
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/** A child process that does one task at a time. */
export class PooledProcess {
  readonly #process: ChildProcess
  readonly #options: PooledProcessOptions
  readonly #memoryWatch: NodeJS.Timeout
  #assignment: Assignment | null = null
  #ready = false
  #rssBytes = 0
  #gone = false
  #killedBecause: Error | null = null
  #stderrTail = ''

  constructor(options: PooledProcessOptions) {
    this.#options = options
    this.#process = fork(fileURLToPath(options.entry), [], {
      execArgv: [],
      // It decodes files from strangers: it gets none of the server's settings and secrets.
      env: {},
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#process.on('message', (message) => this.#onReply(message as Reply))
    this.#process.once('exit', (code, signal) => this.#onGone(`exit status ${code ?? signal}`))
    // Without a pid it never started and no 'exit' will follow; otherwise a message could not be sent.
    this.#process.on('error', (error) => (this.pid === undefined ? this.#onGone(error.message) : this.kill(error)))
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderrTail = (this.#stderrTail + text).slice(-stderrTailChars)
    })
    this.#memoryWatch = setInterval(() => void this.#checkMemory(), memoryCheckMs)
    this.#memoryWatch.unref()
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** Whether it was killed, or is gone: it takes no further job. */
  get dying(): boolean {
    return this.#gone || this.#killedBecause !== null
  }

  /** Resident memory when it was last looked at. */
  get rssBytes(): number {
    return this.#rssBytes
  }

  /** Does one task; the process must be free. Rejects with an EngineError, or another error when the process broke. */
  perform(request: Serializable, onProgress: (fraction: number) => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#assignment = { onProgress, resolve, reject }
      this.#process.send(request, (error) => {
        if (error) this.kill(error)
      })
    })
  }

  /** Ends the process at once; the task that it had fails with `reason` as soon as the process is gone. */
  kill(reason: Error): void {
    this.#killedBecause ??= reason
    this.#process.kill('SIGKILL')
  }

  #onReply(message: Reply): void {
    if (this.#killedBecause) return
    switch (message.type) {
      case 'ready':
        this.#ready = true
        return
      case 'progress':
        this.#assignment?.onProgress(message.fraction)
        return
      case 'memory':
        this.#enforceMemory(message.rssBytes)
        return
      case 'done':
        this.#settle(({ resolve }) => resolve(message.result))
        return
      case 'failed':
        this.#settle(({ reject }) => reject(new EngineError(message.code, message.message, message.retryable)))
        return
      case 'broken':
        this.#settle(({ reject }) => reject(new Error(`A forked process failed: ${message.stack}`)))
    }
  }

  #settle(how: (assignment: Assignment) => void): void {
    const assignment = this.#assignment
    this.#assignment = null
    if (assignment) how(assignment)
  }

  async #checkMemory(): Promise<void> {
    const rssBytes = this.pid === undefined ? null : await readRssBytes(this.pid)
    if (rssBytes !== null) this.#enforceMemory(rssBytes)
  }

  #enforceMemory(rssBytes: number): void {
    this.#rssBytes = rssBytes
    if (rssBytes <= this.#options.maxRssBytes) return
    this.kill(this.#options.failures.outOfMemory(this.#options.maxRssBytes))
  }

  #onGone(how: string): void {
    if (this.#gone) return
    this.#gone = true
    clearInterval(this.#memoryWatch)
    const cause = this.#stderrTail === '' ? {} : { cause: new Error(this.#stderrTail) }
    const why = this.#killedBecause ?? this.#options.failures.crashed(how, cause)
    // First the pool forgets this child, then the task's end asks the pool for another.
    this.#options.onExit(this, why, this.#ready)
    this.#settle(({ reject }) => reject(why))
  }
}
