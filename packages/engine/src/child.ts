// The server's side of a forked process: starts it, gives it a task, watches its memory and that of the programs that it
// starts, and kills it together with them.

import { type ChildProcess, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { constants, getPriority, setPriority } from 'node:os'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findCodeCache } from './code-cache.ts'
import type { Containment, KernelLimits } from './containment.ts'
import { EngineError } from './engine.ts'
import { LineReader, readCalmly } from './lines.ts'
import { findChildren, readMemory } from './memory.ts'
import { type Reply, replyDescriptor } from './messages.ts'
import { type ProcessRights, toNodeFlags } from './permissions.ts'
import { makeFolders, type ProcessFolders, removeFolder } from './process-folders.ts'

const memoryCheckMs = 250
// Added to the server's own niceness.
const niceness = 5
const mostNice = 19
const tryAgainMs = 150
const mostTries = 10
const stderrTailBytes = 2000
// Bytes of replies to one task: some progress and a result. A process that sends more is out of control.
const maxReplyBytes = 1_048_576

/** The errors that the owner of a job gets when its process ends badly. */
export interface ProcessFailures {
  /** It exceeded its memory limit. */
  outOfMemory(limitBytes: number): EngineError
  /** It ended unexpectedly; `how` names its exit status or signal, the cause is its last output. */
  crashed(how: string, options: ErrorOptions): EngineError
}

export interface PooledProcessOptions {
  /** What the process may do; its entry calls `serveTasks`. */
  readonly rights: ProcessRights
  /** How the system contains it. */
  readonly containment: Containment
  readonly limits: KernelLimits
  /** A folder for this process alone; created here, and removed when the process has ended. */
  readonly folder: string
  /** A process that exceeds this, together with the programs that it started, is killed with them, and its task fails. */
  readonly maxRssBytes: number
  readonly failures: ProcessFailures
  /** Called once, when the process has ended; `wasReady` says whether it ever became ready. */
  readonly onExit: (child: PooledProcess, why: Error, wasReady: boolean) => void
}

/** Callbacks for the messages of a process during a task. */
export interface TaskNotification {
  readonly onProgress: (fraction: number) => void
  /** Called with the name of a draft in the output folder; the process chooses the name, so it is untrusted. */
  readonly onDraft?: ((file: string) => void) | undefined
}

interface Assignment extends TaskNotification {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/** A child process that does one task at a time. */
export class PooledProcess {
  readonly folders: ProcessFolders
  readonly #process: ChildProcess
  readonly #options: PooledProcessOptions
  #memoryWatch: NodeJS.Timeout | null = null
  #assignment: Assignment | null = null
  #ready = false
  #workerPid: number | undefined
  #rssBytes = 0
  #heldTooMuch = false
  #gone = false
  #killedBecause: Error | null = null
  readonly #replies: LineReader
  #stderrTail: Buffer = Buffer.alloc(0)

  constructor(options: PooledProcessOptions) {
    this.#options = options
    const { containment, rights, folder } = options
    this.folders = makeFolders(folder, containment.user)
    const codeCache = findCodeCache(containment.user)
    const command = [...toNodeFlags(rights, this.folders, codeCache), fileURLToPath(rights.entry)]
    const program = containment.wrap(process.execPath, command, options.limits, folder)
    this.#process = spawn(program.path, program.args, {
      ...program.as,
      // It decodes untrusted files, so it gets none of the server's settings and secrets.
      env: { TMPDIR: this.folders.output, ...(codeCache !== null && { NODE_COMPILE_CACHE: codeCache }) },
      cwd: folder,
      // It leads a process group, which is killed as one, so its programs do not outlive it.
      detached: true,
      stdio: ['pipe', 'ignore', 'pipe', 'pipe'],
    })
    this.#replies = new LineReader(
      maxReplyBytes,
      (line) => this.#onLine(line),
      () => this.#misbehaved(`it sent more than ${maxReplyBytes} bytes`),
    )
    // Without file descriptors for the pipes there is no `stdio`, whatever the types say; 'error' follows.
    const { stdio } = this.#process as { stdio?: ChildProcess['stdio'] }
    const replies = stdio?.[replyDescriptor] as Readable | null | undefined
    if (replies) readCalmly(replies, (chunk) => this.#replies.write(chunk))
    // A dead process closes the pipe; 'exit' reports it.
    this.#process.stdin?.on('error', () => {})
    this.#process.once('exit', (code, signal) => this.#onGone(`exit status ${this.#describeEnd(code, signal)}`))
    // Without a pid it never started and no 'exit' follows; otherwise a message could not be sent.
    this.#process.on('error', (error) =>
      this.pid === undefined ? this.#onGone(error.message, error) : this.kill(error),
    )
    if (this.#process.stderr)
      readCalmly(this.#process.stderr, (chunk) => {
        this.#stderrTail = Buffer.concat([this.#stderrTail, chunk]).subarray(-stderrTailBytes)
      })
    this.#watchMemory()
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** Whether it was killed or has ended, so it takes no further task. */
  get dying(): boolean {
    return this.#gone || this.#killedBecause !== null
  }

  /** Why it was killed; null if it was not. */
  get killedBecause(): Error | null {
    return this.#killedBecause
  }

  /** Resident memory at the last check. */
  get rssBytes(): number {
    return this.#rssBytes
  }

  /** Runs one task; the process must be free. Rejects with an EngineError, or another error if the process broke. */
  perform(request: object, notifications: TaskNotification): Promise<unknown> {
    if (this.#killedBecause) return Promise.reject(this.#killedBecause)
    return new Promise((resolve, reject) => {
      this.#assignment = { ...notifications, resolve, reject }
      this.#replies.renew()
      this.#heldTooMuch = false
      this.#watchMemory()
      this.#process.stdin?.write(`${JSON.stringify(request)}\n`)
    })
  }

  /** Kills the process at once; its task fails with `reason` as soon as the process has ended. */
  kill(reason: Error): void {
    this.#killedBecause ??= reason
    this.#killGroup()
  }

  #killGroup(): void {
    // Once it has ended and its group was killed, the number may be reused.
    if (this.#gone || this.pid === undefined) return
    try {
      process.kill(-this.pid, 'SIGKILL')
    } catch {
      // No process is left.
    }
  }

  #onLine(line: string): void {
    if (this.#killedBecause) return
    let reply: Reply
    try {
      reply = JSON.parse(line) as Reply
    } catch {
      return this.#misbehaved('it sent something that is not a message')
    }
    this.#onReply(reply)
  }

  #misbehaved(how: string): void {
    this.kill(this.#options.failures.crashed(how, {}))
  }

  #onReply(message: Reply): void {
    switch (message.type) {
      case 'ready':
        if (this.#ready) return
        this.#ready = true
        this.#workerPid = this.#findWorker()
        yieldToServer(this.#workerPid)
        return
      case 'progress':
        this.#assignment?.onProgress(message.fraction)
        return
      case 'draft':
        if (typeof message.file === 'string') this.#assignment?.onDraft?.(message.file)
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
        this.#settle(({ reject }) =>
          reject(Object.assign(new Error(`A forked process failed: ${message.stack}`), { code: message.code })),
        )
    }
  }

  #settle(how: (assignment: Assignment) => void): void {
    const assignment = this.#assignment
    this.#assignment = null
    if (assignment) how(assignment)
  }

  /** The process that runs the module: the spawned one, or its grandchild if the spawned one waits for the end of its namespaces. */
  #findWorker(): number | undefined {
    if (this.pid === undefined || !this.#options.containment.isNested) return this.pid
    const [first] = findChildren(this.pid)
    return first === undefined ? undefined : findChildren(first)[0]
  }

  #describeEnd(code: number | null, signal: NodeJS.Signals | null): number | string {
    const isNested = this.#options.containment.isNested && code !== null && code > 128
    const name = isNested && Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0]
    return signal ?? (name || (code ?? 'unknown'))
  }

  /** Whether programs that it has started still run, in whatever session or group. */
  get hasPrograms(): boolean {
    if (this.pid === undefined || this.#workerPid === undefined) return false
    const { isNested } = this.#options.containment
    // An orphan becomes a child of the first process of the namespace.
    const first = isNested ? findChildren(this.pid)[0] : undefined
    return findChildren(this.#workerPid).length > 0 || (first !== undefined && findChildren(first).length > 1)
  }

  #watchMemory(): void {
    this.#memoryWatch ??= setInterval(() => void this.#checkMemory(), memoryCheckMs).unref()
  }

  #unwatchMemory(): void {
    if (this.#memoryWatch) clearInterval(this.#memoryWatch)
    this.#memoryWatch = null
  }

  async #checkMemory(): Promise<void> {
    if (this.pid === undefined) return
    // An idle process keeps its memory: this look is the last until it has a task.
    if (this.#assignment === null) this.#unwatchMemory()
    const held = await readMemory(this.pid, this.#workerPid ?? this.pid)
    if (held === null) return
    this.#enforceMemory(held.own)
    // A starting program counts twice for a moment, because it begins as a copy of the process.
    const tooMuch = held.own + held.descendants > this.#options.maxRssBytes
    if (tooMuch && this.#heldTooMuch) this.#exceedMemory()
    this.#heldTooMuch = tooMuch
  }

  #enforceMemory(rssBytes: number): void {
    this.#rssBytes = rssBytes
    if (rssBytes > this.#options.maxRssBytes) this.#exceedMemory()
  }

  #exceedMemory(): void {
    this.kill(this.#options.failures.outOfMemory(this.#options.maxRssBytes))
  }

  #onGone(how: string, failure?: Error): void {
    if (this.#gone) return
    this.#killGroup()
    this.#gone = true
    this.#unwatchMemory()
    const said = this.#stderrTail.toString()
    const cause = failure ? { cause: failure } : said === '' ? {} : { cause: new Error(said) }
    const why = (this.#killedBecause ??= this.#options.failures.crashed(how, cause))
    const tell = (): void => {
      // The pool must forget this child before the end of the task asks the pool for another.
      this.#options.onExit(this, why, this.#ready)
      this.#settle(({ reject }) => reject(why))
    }
    removeFolder(this.#options.folder).then(tell, tell)
  }
}

/**
 * Lowers the priority of a process that has loaded its code; threads that it creates later inherit it. The server must answer
 * while every core is busy rendering.
 */
function yieldToServer(pid: number | undefined): void {
  if (pid === undefined) return
  const nice = Math.min(getPriority() + niceness, mostNice)
  try {
    setPriority(pid, nice)
  } catch {
    // The process has ended, or the system does not support this.
  }
  void weighSession(pid, nice)
}

/**
 * Linux may weigh sessions (autogroups) instead of processes, and a group leader here leads a session; then only this counts.
 * Linux accepts one such change per tenth of a second.
 */
async function weighSession(pid: number, nice: number): Promise<void> {
  for (let tries = 0; tries < mostTries; tries++) {
    try {
      return await writeFile(`/proc/${pid}/autogroup`, String(nice))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      await pause(tryAgainMs * (tries + 1), undefined, { ref: false })
    }
  }
}
