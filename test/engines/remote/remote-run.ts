// Runs remote engines in tests: time that passes as fast as it is waited for, and a run whose checkpoints are kept.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Engine,
  EngineError,
  type EngineResult,
  type EngineRun,
  type EngineSpec,
  type JsonObject,
  type JsonValue,
  type UpstreamRun,
  type PastRun,
} from '@mediagen/engine/engine.ts'
import { guardEngine } from '../../../src/engines/guarded.ts'
import { createRemoteEngines, type RemoteEngineDeps } from '../../../src/engines/remote/remote-engine.ts'
import type { Throttle } from '../../../src/engines/remote/throttle.ts'
import { createSecrets } from '../../../src/engines/secrets.ts'

export const noThrottle: Throttle = { enter: async () => {}, leave: async () => {}, pause: async () => {} }

/** A clock that only waiting moves. */
export function createFastClock(startMs = Date.UTC(2026, 0, 1)): {
  nowMs(): number
  pause: NonNullable<RemoteEngineDeps['pause']>
  readonly waits: number[]
} {
  let nowMs = startMs
  const waits: number[] = []
  return {
    waits,
    nowMs: () => nowMs,
    async pause(ms, signal) {
      signal.throwIfAborted()
      waits.push(ms)
      nowMs += ms
      await new Promise((done) => setImmediate(done))
      signal.throwIfAborted()
    },
  }
}

/** The engines of all kinds; `secrets` are environment variables. */
export function createTestRemotes(
  secrets: Record<string, string> = {},
  deps: Partial<RemoteEngineDeps> = {},
): Engine[] {
  const guarding = createSecrets(secrets)
  const engines = createRemoteEngines({
    ...createFastClock(),
    secrets: guarding,
    random: () => 0.5,
    throttle: noThrottle,
    maxAnswerBytes: 1_000_000,
    webhookOf: async () => null,
    findKnownId: async () => null,
    isTaken: async () => false,
    adopt: async () => true,
    ...deps,
  })
  return engines.map((engine) => guardEngine(engine, guarding))
}

/** The engine of one kind. */
export function openRemote(kind: string, ...args: Parameters<typeof createTestRemotes>): Engine & AsyncDisposable {
  const engine = createTestRemotes(...args).find((one) => one.kind === kind)
  if (!engine) throw new Error(`no engine ${kind}`)
  return Object.assign(engine, { [Symbol.asyncDispose]: () => engine.close() })
}

/** A run, and what it has saved. */
export interface KeptRun extends EngineRun, AsyncDisposable {
  readonly saved: JsonValue[]
  readonly records: UpstreamRun[]
  readonly downloads: { readonly url: string; readonly headers: Readonly<Record<string, string>> }[]
  readonly abort: AbortController
  /** The submissions by their number, as the latest report has them. */
  verdicts(): Record<number, string>
}

/** Starts a run; `saveCheckpoint` may be replaced. */
export async function startKeptRun(
  options: { jobId?: string; input?: JsonObject; media?: Record<string, string>; checkpoint?: JsonValue } = {},
): Promise<KeptRun> {
  const folder = await mkdtemp(join(tmpdir(), 'mediagen-remote-'))
  const saved: JsonValue[] = []
  const records: UpstreamRun[] = []
  const downloads: KeptRun['downloads'] = []
  const abort = new AbortController()
  return {
    jobId: options.jobId ?? 'job_1',
    model: 'acme/picture',
    owner: 'acct_1',
    attempt: 1,
    input: options.input ?? { prompt: 'a boat' },
    checkpoint: options.checkpoint ?? null,
    folder: async () => folder,
    signal: abort.signal,
    abort,
    saved,
    records,
    downloads,
    media: async () => new Map(Object.entries(options.media ?? {})),
    onProgress: () => {},
    waiting: (turn) => turn,
    preview: () => {},
    async saveCheckpoint(value, upstream) {
      saved.push(value)
      if (upstream) records.push(upstream)
    },
    async download(url, file, { origin, headers = {} } = {}) {
      const sent = new URL(url).origin === origin ? headers : {}
      downloads.push({ url, headers: sent })
      const answer = await fetch(url, { headers: sent })
      if (!answer.ok) throw new EngineError('download_failed', `${answer.status}`, true)
      const bytes = Buffer.from(await answer.arrayBuffer())
      await writeFile(join(folder, file), bytes)
      return { bytes: bytes.length, contentType: answer.headers.get('content-type') }
    },
    verdicts: () => Object.fromEntries(records.map(({ n, verdict }) => [n, verdict])),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

/** The outcome of a run: its result, or what it threw. */
export async function outcomeOf(running: Promise<EngineResult>): Promise<EngineResult | Error> {
  return running.catch((error: unknown) => error as Error)
}

/** Runs until the submission was accepted and stops there; returns what a cancel is told of the run. */
export async function abandonRun(engine: Engine, spec: EngineSpec, run: KeptRun): Promise<PastRun> {
  const save = run.saveCheckpoint
  run.saveCheckpoint = async (value, upstream) => {
    await save(value, upstream)
    if (upstream?.verdict === 'accepted') run.abort.abort('canceled')
  }
  await outcomeOf(engine.run(spec, run))
  return { jobId: run.jobId, model: run.model, checkpoint: run.saved.at(-1) ?? null, signal: run.signal }
}

/** A model's settings, as the catalog hands them over. */
export function toSpec(
  kind: string,
  baseUrl: string,
  settings: Record<string, unknown> = {},
  provider = {},
): EngineSpec {
  return {
    kind,
    base_folder: import.meta.dirname,
    provider: { name: kind, kind, base_url: baseUrl, ...provider },
    timeout_seconds: 300,
    ...settings,
  }
}
