// The command engine: any local program, started without a shell, becomes a model. The protocol is in docs/catalog.md
// and in the JSDoc of createCommandEngine.

import { chown } from 'node:fs/promises'
import { EngineError } from '@mediagen/engine/engine.ts'
import type { Engine, EngineResult, EngineRun, EngineSpec, JsonObject } from '@mediagen/engine/engine.ts'
import { checkFolderSize } from '@mediagen/engine/folder-size.ts'
import { type ProgramLimits, whyNotStarted } from '@mediagen/engine/limited-program.ts'
import { listOutputs } from './command/outputs.ts'
import { startProcessGroup } from './command/process-group.ts'
import type { ProcessGroup, ProgramEnd } from './command/process-group.ts'
import { findProgram } from './command/program.ts'
import type { Program } from './command/program.ts'
import { toShownText } from './command/protocol.ts'
import { listen } from './command/transcript.ts'
import type { ProgramLine } from './command/transcript.ts'

export interface CommandEngineOptions {
  /** The server's environment; programs get only PATH, HOME, LANG and TMPDIR from it. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Receives the output of programs, except for the messages of the protocol. */
  readonly log?: (line: ProgramLine) => void
  /** Called for a program that failed without an error message of the protocol. */
  readonly onFailure?: (failure: ProgramFailure) => void
  /** Milliseconds between SIGTERM and SIGKILL. Default 2000; the job itself ends at once. */
  readonly killAfterMs?: number
  /** A line is cut at this many bytes; a message that long is ignored. Default 64 KiB. */
  readonly maxLineBytes?: number
  /** Maximum number of lines of one run that are passed to `log`. Default 1000. */
  readonly maxLogLines?: number
  /** Maximum number of output files of one run. Default 100. */
  readonly maxOutputs?: number
  /** Maximum number of bytes in the folder of one run; a program that exceeds it is killed. Default 2 GiB. */
  readonly maxOutputBytes?: number
  /** Limits of programs whose spec has none of its own, by limit. Default: none but that they gain no privileges. */
  readonly limits?: ProgramLimits
  /** Milliseconds between two checks of how much the program has written. Default 250. */
  readonly pollMs?: number
}

/** A program that failed, for the operator. */
export interface ProgramFailure {
  readonly jobId: string
  readonly model: string
  /** Such as `exit code 1`. */
  readonly end: string
  /** The last lines of standard error. */
  readonly stderr: readonly string[]
}

type Settings = Required<CommandEngineOptions>

const defaults = {
  log: () => {},
  onFailure: () => {},
  killAfterMs: 2000,
  maxLineBytes: 64 * 1024,
  maxLogLines: 1000,
  maxOutputs: 100,
  maxOutputBytes: 2 * 1024 ** 3,
  pollMs: 250,
  limits: {},
}

const words = { type: 'string', minLength: 1 }
const count = { type: 'integer', minimum: 1 }

/** JSON Schema of what a catalog says about a program. */
const schema: JsonObject = {
  required: ['run'],
  properties: {
    run: { type: 'array', minItems: 1, items: words },
    env: { type: 'object', additionalProperties: { type: 'string' } },
    resumable: { type: 'boolean' },
    limits: {
      type: 'object',
      additionalProperties: false,
      properties: {
        open_files: count,
        tasks: count,
        file_bytes: count,
        memory_bytes: count,
        network: { type: 'boolean' },
        user: { type: ['integer', 'string'] },
        new_privileges: { type: 'boolean' },
      },
    },
  },
}

/**
 * Creates the engine of kind `command`, whose spec is `{ run: [program, ...args], env?, resumable?, base_folder? }` (the other
 * settings of such a spec are the runner's). See `findProgram` for how the program and its arguments are looked up.
 *
 * The program works in the empty folder of the run. Standard input is one JSON object `{ job_id, model, attempt, input,
 * media, checkpoint }`, then end of file; it need not be read. `media` has the paths of the files that the input refers to,
 * by JSON pointer; they lie outside that folder. Standard output is JSON lines `{"progress": 0.5}`,
 * `{"usage": {"seconds": 3.2}}` (a later value of a name replaces the earlier one), `{"checkpoint": …}`,
 * `{"preview": ".draft.png"}` and
 * `{"error": {"code", "message", "retryable"}}`; every other line, and standard error, goes to the log. Exit code 0 is
 * success and every file left in the folder is an output (`listOutputs`); any other end fails the run with the last
 * error printed, else with `program_failed`, and `onFailure` receives the last lines of standard error. On abort the process group gets SIGTERM, SIGKILL later.
 *
 * `limits` of the spec has what the kernel is to refuse the program (`ProgramLimits`, written with underscores).
 *
 * `run` throws EngineError with the program's own code or `program_failed`, `program_not_started`, `no_output`,
 * `too_many_outputs`, `output_invalid`, `output_too_large`, `canceled`. `unready` reads the file system.
 */
export function createCommandEngine(options: CommandEngineOptions): Engine {
  const settings: Settings = { ...defaults, ...options }
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const unready = rememberBriefly(settings)
  return {
    kind: 'command',
    schema,
    waits: () => false,
    unready: async (spec) => unready(spec),
    afterLoss: ({ resumable }) => (resumable === false ? 'never' : 'again'),
    async run(spec, run) {
      const signal = AbortSignal.any([run.signal, closing.signal])
      const result = runProgram(spec, run, signal, settings)
      running.add(result)
      return await result.finally(() => running.delete(result))
    },
    async close() {
      closing.abort()
      await Promise.allSettled(running)
    },
  }
}

/**
 * Looks up the program of a spec, once for all specs in the same turn of the event loop: a
 * catalog may name one program thousands of times, and a program that was just installed is still found at once.
 */
function rememberBriefly({ environment, limits: usualLimits }: Settings): (spec: EngineSpec) => string | null {
  const known = new Map<string, string | null>()
  return (spec) => {
    // The arguments are left out of the key: whether the program can run does not depend on them.
    const { run, env, base_folder: folder, limits } = spec
    const rest = Array.isArray(run) && run.slice(1).every(isArgument) ? { ...spec, run: run.slice(0, 1) } : spec
    const key = JSON.stringify([rest.run, env, folder, limits])
    let reason = known.get(key)
    if (reason === undefined) {
      const program = findProgram(rest, environment, usualLimits)
      reason = typeof program === 'string' ? program : null
      if (known.size === 0) setImmediate(() => known.clear()).unref()
      known.set(key, reason)
    }
    return reason
  }
}

function isArgument(argument: unknown): boolean {
  return typeof argument === 'string' && !argument.includes('\0')
}

async function runProgram(
  spec: EngineSpec,
  run: EngineRun,
  signal: AbortSignal,
  settings: Settings,
): Promise<EngineResult> {
  const program = findProgram(spec, settings.environment, settings.limits)
  if (typeof program === 'string') throw new EngineError('program_not_started', `This model cannot run: ${program}.`)
  if (signal.aborted) throw new EngineError('canceled', 'The run was stopped before it started.')

  const request = `${await toRequest(run)}\n`
  const folder = await run.folder()
  const group = await start(program, folder, settings)
  const terminate = () => group.terminate()
  signal.addEventListener('abort', terminate)
  if (signal.aborted) terminate()
  const said = listen(group, run, settings)
  const stopWatching = watchFolder(folder, settings, said.fail)
  // A program that does not read its input closes the pipe. That is allowed and not an error.
  group.stdin.on('error', () => {})
  group.stdin.end(request)

  const end = await group.ended
  signal.removeEventListener('abort', terminate)
  stopWatching()
  await said.finish()
  if (said.failure !== null) throw said.failure
  if (signal.aborted) throw new EngineError('canceled', 'The run was stopped.')
  const notStarted = whyNotStarted(end.exitCode, said.errorTail.at(-1) ?? '')
  if (notStarted !== null) throw couldNotStart(program, notStarted)
  if (end.exitCode !== 0) throw said.error ?? toExitError(end, said.errorTail, run, settings)
  return { files: await listOutputs(folder, settings), usage: Object.fromEntries(said.usage) }
}

async function start(program: Program, folder: string, { killAfterMs }: Settings): Promise<ProcessGroup> {
  try {
    // The outputs stay in the folder of the run, from where the runner takes them.
    const { user } = program.limits
    if (user) await chown(folder, user.uid, user.gid)
    return await startProcessGroup(program, folder, killAfterMs)
  } catch (cause) {
    throw couldNotStart(program, (cause as NodeJS.ErrnoException).code ?? 'unknown error', cause)
  }
}

function couldNotStart({ name }: Program, reason: string, cause?: unknown): EngineError {
  const busy = ['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE'].includes(reason)
  const words = `The program ${name} could not be started (${reason}).`
  return new EngineError('program_not_started', words, busy, { cause })
}

async function toRequest({ jobId, model, attempt, input, checkpoint, media }: EngineRun): Promise<string> {
  const files = Object.fromEntries(await media())
  return JSON.stringify({ job_id: jobId, model, attempt, input, media: files, checkpoint })
}

/** Checks the folder repeatedly, one check at a time, until the returned function is called. */
function watchFolder(folder: string, settings: Settings, fail: (reason: unknown) => void): () => void {
  let stopped = false
  let timer = setTimeout(look, settings.pollMs)
  function look() {
    checkFolderSize(folder, settings.maxOutputBytes).then(() => {
      if (!stopped) timer = setTimeout(look, settings.pollMs)
    }, fail)
  }
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}

function toExitError(
  { exitCode, signal }: ProgramEnd,
  stderr: readonly string[],
  { jobId, model }: EngineRun,
  { onFailure }: Settings,
): EngineError {
  const end = signal === null ? `exit code ${exitCode}` : `signal ${signal}`
  onFailure({ jobId, model, end, stderr: stderr.map(toShownText) })
  return new EngineError(
    'program_failed',
    `The program of this model failed (${end}). The log of the server says more.`,
  )
}
