// The engines of remote models, with what they share through the store.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '@mediagen/engine/engine.ts'
import type { ProviderStore } from '@mediagen/engine/provider-share.ts'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { toSubmissionPath } from '../core/jobs/submission-url.ts'
import type { Store } from '../core/store.ts'
import { inSpan, type Traces } from '../core/traces.ts'
import { createRemoteEngines } from '../engines/remote/remote-engine.ts'
import { createThrottle, type Throttle } from '../engines/remote/throttle.ts'
import type { Secrets } from '../engines/secrets.ts'

/** What remote engines use of the store. */
export type SharedStore = ProviderStore & Pick<Store, 'signingKeys'>

/** What remote engines have from the rest of a server. */
export interface RemoteDeps {
  readonly log: Logger
  readonly traces: Traces
  /** The keys of providers. */
  readonly secrets: Secrets
  /** The store, once it is open; not called before the first run. */
  readonly openStore: () => SharedStore
}

// Files come as base64 in JSON from some providers.
const base64Growth = 1.4

/** Creates the engines. */
export function createRemote(config: Config, { secrets, openStore, log, traces }: RemoteDeps): Engine[] {
  const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal })
  let shared: Throttle | undefined
  const throttle = (): Throttle => (shared ??= createThrottle(openStore(), pause))
  return createRemoteEngines({
    secrets,
    onWarning: (provider, warning) =>
      log.warn({ provider, warning }, 'a provider leaves something out of a request, or its answer could not be read'),
    nowMs: Date.now,
    random: Math.random,
    pause,
    traced: (name, provider, work) =>
      inSpan(traces, name, { kind: 'client', facts: { 'mediagen.provider': provider } }, work),
    throttle: {
      enter: (...args) => throttle().enter(...args),
      leave: (...args) => throttle().leave(...args),
      pause: (...args) => throttle().pause(...args),
    },
    maxAnswerBytes: Math.min(config.maxProviderAnswerBytes, Math.ceil(config.maxOutputBytes * base64Growth)),
    async webhookOf(submission) {
      if (config.publicUrl === null) return null
      const [key] = (await openStore().signingKeys('asset')).slice(-1)
      return key ? config.publicUrl + toSubmissionPath(submission, key.secret) : null
    },
    findKnownId: (jobId, n) => openStore().foundSubmission(jobId, n),
    adopt: (found) => openStore().adoptSubmission(found),
    isTaken: (provider, upstreamId, jobId) => openStore().isUpstreamTaken(provider, upstreamId, jobId),
  })
}
