// One forked process as the server sees it: starts it, gives it a job, watches its memory, kills it.

import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { EngineError, type EngineResult } from '../../core/engine.ts'
import type { RenderReply, RenderRequest } from './messages.ts'
import { readRssBytes } from './process-memory.ts'

const memoryCheckMs = 250
const stderrTailChars = 2000

export interface RenderChildOptions {
  /** The module that the child runs. */
  readonly entry: URL
  /** A child that holds more is killed, and its job with it. */
  readonly maxRssBytes: number
  /** Called once, when the process is gone for whatever reason; `wasReady` tells whether it ever came up. */
  readonly onExit: (child: RenderChild, why: Error, wasReady: boolean) => void
}

interface Assignment {
  readonly onProgress: (fraction: number) => void
  readonly resolve: (result: EngineResult) => void
  readonly reject: (error: Error) => void
}

/** A child process that renders one job at a time. */
export class RenderChild {
  readonly #process: ChildProcess
  readonly #options: RenderChildOptions
  readonly #memoryWatch: NodeJS.Timeout
  #assignment: Assignment | null = null
  #ready = false
  #rssBytes = 0
  #gone = false
  #killedBecause: Error | null = null
  #stderrTail = ''

  constructor(options: RenderChildOptions) {
    this.#options = options
    this.#process = fork(fileURLToPath(options.entry), [], {
      execArgv: [],
      // A child decodes files from strangers: it gets none of the server's settings and secrets.
      env: {},
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#process.on('message', (message) => this.#onReply(message as RenderReply))
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

  /** Renders one job; the child must be free. Rejects with an EngineError, or another error when the child broke. */
  render(request: RenderRequest, onProgress: (fraction: number) => void): Promise<EngineResult> {
    return new Promise((resolve, reject) => {
      this.#assignment = { onProgress, resolve, reject }
      this.#process.send(request, (error) => {
        if (error) this.kill(error)
      })
    })
  }

  /** Ends the process at once; the job that it had fails with `reason` as soon as the process is gone. */
  kill(reason: Error): void {
    this.#killedBecause ??= reason
    this.#process.kill('SIGKILL')
  }

  #onReply(message: RenderReply): void {
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
        this.#settle(({ resolve }) => resolve({ files: message.files, usage: message.usage }))
        return
      case 'failed':
        this.#settle(({ reject }) => reject(new EngineError(message.code, message.message, message.retryable)))
        return
      case 'broken':
        this.#settle(({ reject }) => reject(new Error(`A renderer failed: ${message.stack}`)))
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
    const limit = Math.round(this.#options.maxRssBytes / 1e6)
    this.kill(
      new EngineError(
        'out_of_memory',
        `The render needed more than ${limit} MB of memory and was stopped. Try a smaller size.`,
      ),
    )
  }

  #onGone(how: string): void {
    if (this.#gone) return
    this.#gone = true
    clearInterval(this.#memoryWatch)
    const cause = this.#stderrTail === '' ? {} : { cause: new Error(this.#stderrTail) }
    const crash = new EngineError(
      'renderer_crashed',
      `The process that rendered this ended unexpectedly (${how}).`,
      true,
      cause,
    )
    const why = this.#killedBecause ?? crash
    // First the pool forgets this child, then the job's end asks the pool for another.
    this.#options.onExit(this, why, this.#ready)
    this.#settle(({ reject }) => reject(why))
  }
}
