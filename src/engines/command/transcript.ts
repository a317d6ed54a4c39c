// The transcript of a program: passes its messages to the runner and its other lines to the log, and keeps what the end
// of the run needs.

import type { Readable } from 'node:stream'
import type { EngineError, EngineRun, JsonValue } from '@mediagen/engine/engine.ts'
import type { ProcessGroup } from './process-group.ts'
import { createLineReader, maxUsageNames, parseMessage } from './protocol.ts'

/** A line of output for the operator. */
export interface ProgramLine {
  readonly jobId: string
  readonly model: string
  readonly stream: 'stdout' | 'stderr'
  readonly line: string
}

/** How much of a program's output is kept. */
export interface TranscriptLimits {
  readonly log: (line: ProgramLine) => void
  readonly maxLineBytes: number
  readonly maxLogLines: number
}

/** The transcript so far; its fields change until the group has ended and `finish` was called. */
export interface Transcript {
  /** The last error message. */
  readonly error: EngineError | null
  /** The last lines of standard error that are not blank. */
  readonly errorTail: readonly string[]
  readonly usage: ReadonlyMap<string, number>
  /** Why the server killed the program, or null. */
  readonly failure: unknown
  /** Kills the program for a reason of the server. */
  readonly fail: (reason: unknown) => void
  /** Processes last lines that have no line end, and waits until the last checkpoint is saved. */
  readonly finish: () => Promise<void>
}

/** How many of the last lines of standard error are kept. */
const tailLines = 20
/** Pause after each chunk (at most 64 KiB) of output. */
const breathMs = 10

/** Listens to a program. Progress is passed on only when it increases. */
export function listen(group: ProcessGroup, run: EngineRun, limits: TranscriptLimits): Transcript {
  const said = { error: null as EngineError | null, errorTail: [] as string[], failure: null as unknown }
  const usage = new Map<string, number>()
  const fail = (reason: unknown) => {
    said.failure ??= reason
    group.kill()
  }
  const log = createLog(run, limits)
  const checkpoints = createCheckpoints(run, fail)
  let progress = 0
  const onOutput = (line: string) => {
    const message = parseMessage(line)
    if (message === null) return log('stdout', line)
    if (message.error !== undefined) said.error = message.error
    for (const [name, amount] of Object.entries(message.usage ?? {})) {
      if (usage.has(name) || usage.size < maxUsageNames) usage.set(name, amount)
    }
    if (message.progress !== undefined && message.progress > progress) run.onProgress((progress = message.progress))
    if (message.preview !== undefined) run.preview(message.preview)
    if (message.checkpoint !== undefined) checkpoints.save(message.checkpoint)
  }
  const onError = (line: string) => {
    said.errorTail.push(line)
    if (said.errorTail.length > tailLines) said.errorTail.shift()
    log('stderr', line)
  }
  const stdout = createLineReader(limits.maxLineBytes, guard(onOutput, fail))
  const stderr = createLineReader(limits.maxLineBytes, guard(onError, fail))
  read(group.stdout, stdout.write)
  read(group.stderr, stderr.write)
  const finish = async () => {
    stdout.end()
    stderr.end()
    await checkpoints.saved()
  }
  return Object.assign(said, { usage, fail, finish })
}

/** A program that prints without end is slowed down by its full pipe and does not keep the event loop busy. */
function read(stream: Readable, write: (chunk: Buffer) => void): void {
  stream.on('error', () => {})
  stream.on('data', (chunk: Buffer) => {
    write(chunk)
    stream.pause()
    setTimeout(() => stream.resume(), breathMs)
  })
}

/** Saves one checkpoint at a time; of those that arrive meanwhile, only the last is saved, and only if it differs. */
function createCheckpoints(run: EngineRun, fail: (reason: unknown) => void) {
  let saved = JSON.stringify(run.checkpoint)
  let next: JsonValue | undefined
  let saving: Promise<void> | null = null
  async function saveAll(): Promise<void> {
    // Waits until the whole chunk is parsed, so only its last checkpoint is saved; and `saving` is set by then.
    await Promise.resolve()
    for (let value = next; value !== undefined; value = next) {
      next = undefined
      const text = JSON.stringify(value)
      if (text === saved) continue
      await run.saveCheckpoint(value)
      saved = text
    }
    saving = null
  }
  return {
    save(value: JsonValue): void {
      next = value
      saving ??= saveAll().catch(fail)
    },
    saved: async () => await saving,
  }
}

function createLog({ jobId, model }: EngineRun, { log, maxLogLines }: TranscriptLimits) {
  let lines = 0
  return (stream: ProgramLine['stream'], line: string) => {
    lines += 1
    if (lines <= maxLogLines) log({ jobId, model, stream, line })
    if (lines === maxLogLines + 1) log({ jobId, model, stream, line: '(the further lines of this run are not logged)' })
  }
}

/** An exception from a callback must end this run, not the whole server as it would from an event handler. */
function guard(onLine: (line: string) => void, fail: (reason: unknown) => void): (line: string) => void {
  return (line) => {
    try {
      onLine(line)
    } catch (error) {
      fail(error)
    }
  }
}
