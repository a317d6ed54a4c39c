// The engines of remote models: one for each kind of provider, all on the same state machine.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type AfterLoss,
  type Engine,
  EngineError,
  type EngineSpec,
  type JsonValue,
  OutcomeUnknown,
  type PastRun,
  type ProviderCheck,
  type Reconciled,
  type UpstreamRun,
  type UpstreamVerdict,
} from '@mediagen/engine/engine.ts'
import {
  createUpstreamClient,
  type UpstreamClient,
  type UpstreamClientOptions,
} from '../../outgoing/upstream-client.ts'
import { readKey, type Secrets } from '../secrets.ts'
import type { Backend, Candidate } from './backend.ts'
import { backends } from './backends.ts'
import { checkProvider } from './check-provider.ts'
import { readCheckpoint, type RemoteCheckpoint, toCheckpoint } from './checkpoint.ts'
import { type Connection, createConnection, NoVerdict, WebPage } from './connection.ts'
import { findSubmission } from './find-submission.ts'
import { type MachineDeps, runRemote } from './machine.ts'
import type { Provider, RemoteSpec } from './provider.ts'
import { createMemory } from './readiness.ts'
import { toEngineSchema, toProviderSchema } from './schema.ts'

const defaultTimeoutSeconds = 600
// A canceled submission whose outcome is unknown is asked about for so long.
const lookForMs = 600_000

/** What remote engines need. */
export interface RemoteEngineDeps extends Omit<MachineDeps, 'pause' | 'traced'> {
  readonly secrets: Secrets
  /** Size of the largest answer with files in it. */
  readonly maxAnswerBytes: number
  /** Called with the name of a provider in the catalog, and what it leaves out of a request or why it could not be read. */
  readonly onWarning?: (provider: string, words: string) => void
  readonly pause?: MachineDeps['pause']
  /** Default: without traces. */
  readonly traced?: MachineDeps['traced']
  /** Opens a client; a test may pass its own. */
  readonly openClient?: (options: UpstreamClientOptions) => UpstreamClient
}

/** Creates an engine for each kind of provider. */
export function createRemoteEngines(deps: RemoteEngineDeps): Engine[] {
  const connect = createConnector(deps)
  const machine: MachineDeps = {
    ...deps,
    pause: deps.pause ?? ((ms, signal) => sleep(ms, undefined, { signal })),
    traced: deps.traced ?? ((_name, _provider, work) => work()),
  }
  return [...backends.values()].map((backend) => createEngine(backend, machine, connect))
}

function createEngine({ kind }: Backend, machine: MachineDeps, connector: Connector): Engine {
  const memory = createMemory(machine.nowMs)
  const list = (spec: EngineSpec): RemoteSpec[] => {
    const { fallback = [], ...first } = spec as RemoteSpec
    return [first, ...fallback.map((other) => ({ ...other, base_folder: first.base_folder }))]
  }
  const candidatesOf = (spec: EngineSpec): Candidate[] => list(spec).map(connector.toCandidate)

  return {
    kind,
    schema: toEngineSchema(kind),
    provider: toProviderSchema(kind),
    findFault: (spec) => findFault(list(spec)),
    secretsOf: (spec) => list(spec).flatMap(({ provider }) => provider.token_env ?? []),
    checkProvider: (provider, timeoutMs) => connector.check(provider as unknown as Provider, timeoutMs),
    waits: () => true,
    async unready(spec) {
      const reasons = await Promise.all(list(spec).map(whyUnready))
      // Any of them can serve.
      return reasons.includes(null) ? null : reasons.join('; ')
    },
    afterLoss: (_spec, checkpoint) => decideAfterLoss(checkpoint),
    mayBePaid(spec, checkpoint) {
      const note = checkpoint as unknown as RemoteCheckpoint | null
      return note?.state === 'submitting' && pick(candidatesOf(spec), note)?.backend.free !== true
    },
    run(spec, run) {
      const { timeout_seconds: seconds = defaultTimeoutSeconds } = spec as RemoteSpec
      return runRemote(candidatesOf(spec), seconds * 1000, run, machine)
    },
    reconcile: (spec, past) => reconcile(candidatesOf(spec), past, machine),
    cancel: (spec, past) => cancel(candidatesOf(spec), past, machine),
    close: () => connector.close(),
  }

  async function whyUnready(spec: RemoteSpec): Promise<string | null> {
    const reason = connector.whyKeyless(spec.provider)
    const isAboutProvider = backends.get(spec.kind)?.isReadyAsWhole === true
    return reason ?? memory.recall(spec, isAboutProvider, () => ask(connector.toCandidate(spec)))
  }
}

/** A hosted service that is out of order for a while is waited for by its jobs; a server of the operator's is not ready then. */
async function ask({ backend, ...place }: Candidate): Promise<string | null> {
  try {
    return await backend.unready(place)
  } catch (error) {
    if (!(error instanceof NoVerdict)) throw error
    const { status } = error
    const isLasting = status !== null && status < 500 && status !== 429 && (status >= 300 || error instanceof WebPage)
    return isLasting || backend.baseUrl === null ? error.message : null
  }
}

/** Finds an error in the settings of a model or of a fallback. */
function findFault(specs: readonly RemoteSpec[]): { field: string; words: string } | null {
  for (const [index, spec] of specs.entries()) {
    const fault = backends.get(spec.kind)?.findFault?.(spec)
    if (fault) return { ...fault, field: index === 0 ? fault.field : `fallback.${index - 1}.${fault.field}` }
  }
  return null
}

/** A run that was submitted is only waited for; one whose submission may have been sent first finds out. */
function decideAfterLoss(checkpoint: JsonValue): AfterLoss {
  const state = checkpoint === null ? 'idle' : (checkpoint as unknown as RemoteCheckpoint).state
  return state === 'idle' ? 'again' : 'continue'
}

function pick(candidates: readonly Candidate[], { at, provider }: RemoteCheckpoint): Candidate | null {
  const found = candidates[at]
  return found?.connection.provider === provider ? found : null
}

async function reconcile(candidates: readonly Candidate[], past: PastRun, machine: MachineDeps): Promise<Reconciled> {
  const note = readCheckpoint(past.checkpoint)
  const candidate = note && pick(candidates, note)
  if (!note || !candidate) return { state: 'unknown' }
  if (note.state !== 'submitting') return { state: 'known', checkpoint: past.checkpoint }
  const { ref } = await findSubmission(candidate, note, past.jobId, machine)
  if (ref === null) return { state: 'unknown' }
  if (ref === 'absent') await machine.throttle.leave(note.provider, past.jobId)
  const known: RemoteCheckpoint = ref === 'absent' ? { ...note, state: 'idle' } : { ...note, state: 'submitted', ref }
  return {
    state: 'known',
    checkpoint: toCheckpoint(known),
    upstream: toRecord(known, ref === 'absent' ? 'refused' : 'accepted'),
  }
}

async function cancel(
  candidates: readonly Candidate[],
  past: PastRun,
  machine: MachineDeps,
): Promise<UpstreamRun | null> {
  const note = readCheckpoint(past.checkpoint)
  const candidate = note && pick(candidates, note)
  if (!note || note.state === 'idle' || !candidate) return null
  const { backend, ...place } = candidate
  let { ref } = note
  if (note.state === 'submitting') {
    const found = await findSubmission(candidate, note, past.jobId, machine)
    if (found.ref === 'absent') {
      await machine.throttle.leave(note.provider, past.jobId)
      return toRecord(note, 'refused')
    }
    if (found.ref === null) {
      // It may still appear there.
      if (machine.nowMs() - (note.since ?? 0) < lookForMs && !backend.blocks(place.spec)) throw new Error(found.words)
      return toRecord(note, 'unknown')
    }
    ref = found.ref
  }
  if (ref === null) return null
  const verdict = await backend.cancel(place, ref)
  await machine.throttle.leave(note.provider, past.jobId)
  return toRecord({ ...note, ref }, verdict)
}

function toRecord({ n, provider, ref }: RemoteCheckpoint, verdict: UpstreamVerdict): UpstreamRun {
  return { n, provider, upstreamId: ref?.id ?? null, verdict, cost: null }
}

interface Connector {
  /** Why the provider's key cannot be sent; null if it can be, or if it needs none. */
  whyKeyless(provider: Provider): string | null
  toCandidate(spec: RemoteSpec): Candidate
  check(provider: Provider, timeoutMs: number): Promise<ProviderCheck>
  close(): Promise<void>
}

/** Opens one client for each provider, when it is first used. */
function createConnector(deps: RemoteEngineDeps): Connector {
  const { secrets, maxAnswerBytes, openClient = createUpstreamClient, onWarning } = deps
  const opened = new Map<string, { readonly client: UpstreamClient; readonly connection: Connection }>()

  function keyOf({ token_env: name }: Provider): ReturnType<typeof readKey> {
    return name === undefined ? { reason: null } : readKey(secrets, name)
  }

  function open(provider: Provider, backend: Backend): Connection {
    const known = opened.get(provider.name)
    if (known) return known.connection
    const token = keyOf(provider).key
    const usual = typeof backend.baseUrl === 'function' ? backend.baseUrl(provider) : backend.baseUrl
    const baseUrl = provider.base_url ?? usual
    if (baseUrl === null) throw new EngineError('provider_unreachable', `${provider.name} has no base_url.`)
    const credentials = token ? backend.credentials(token, provider) : {}
    const domain = backend.domain?.(provider)
    const client = openClient({ baseUrl, credentials, ...(domain && { domain }) })
    const connection = createConnection({
      provider: provider.name,
      baseUrl,
      client,
      credentials,
      hide: secrets.hide,
      onWarning: (words) => onWarning?.(provider.name, words),
      maxBytes: maxAnswerBytes,
      free: backend.free,
    })
    opened.set(provider.name, { client, connection })
    return connection
  }

  function findBackend(kind: string): Backend {
    const backend = backends.get(kind)
    if (!backend) throw new OutcomeUnknown(`This server has no engine "${kind}".`)
    return backend
  }

  return {
    whyKeyless: (provider) => keyOf(provider).reason,
    toCandidate(spec) {
      const backend = findBackend(spec.kind)
      return { backend, spec, connection: open(spec.provider, backend) }
    },
    async check(provider, timeoutMs) {
      const { greeting } = findBackend(provider.kind)
      const question = typeof greeting === 'function' ? greeting(provider) : greeting
      const { reason } = keyOf(provider)
      return checkProvider(open(provider, findBackend(provider.kind)), question, {
        key: provider.token_env === undefined ? 'none' : reason === null ? 'unknown' : 'missing',
        reason,
        timeoutMs,
      })
    },
    async close() {
      const closing = [...opened.values()].map(({ client }) => client.close())
      opened.clear()
      await Promise.all(closing)
    },
  }
}
