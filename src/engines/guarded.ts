// Hides the secrets of an engine: its messages are passed on without them, and a model is not ready while one is missing.
import {
  type Engine,
  EngineError,
  type EngineRun,
  type EngineSpec,
  type JsonValue,
  OutcomeUnknown,
  type Reconciled,
  Undelivered,
  type UpstreamRun,
} from '@mediagen/engine/engine.ts'
import { describeMissing, type Secrets } from './secrets.ts'

/** Guards an engine; one without secrets is returned as it is. */
export function guardEngine(engine: Engine, secrets: Secrets): Engine {
  if (!engine.secretsOf) return engine
  const hide = <Value extends JsonValue | UpstreamRun>(value: Value): Value =>
    // Text by text, since a value may be a number that stands in the JSON of others.
    JSON.parse(JSON.stringify(value), (_, part: unknown) =>
      typeof part === 'string' ? secrets.hide(part) : part,
    ) as Value
  const hideUpstream = (upstream?: UpstreamRun | null): UpstreamRun | undefined =>
    upstream ? hide(upstream) : undefined

  function hideError(error: unknown): unknown {
    if (error instanceof EngineError) return reword(error)
    if (error instanceof OutcomeUnknown) return new OutcomeUnknown(secrets.hide(error.message), { cause: error.cause })
    if (error instanceof Undelivered) return new Undelivered(secrets.hide(error.message), { cause: error.cause })
    return error
  }

  function reword({ code, message, retryable, cause }: EngineError): EngineError {
    return new EngineError(code, secrets.hide(message), retryable, { cause })
  }

  async function guard<Result>(answer: Promise<Result>): Promise<Result> {
    return answer.catch((error: unknown) => {
      throw hideError(error)
    })
  }

  function guardRun(run: EngineRun): EngineRun {
    return {
      ...run,
      media: () => run.media(),
      saveCheckpoint: (checkpoint, upstream) => run.saveCheckpoint(hide(checkpoint), hideUpstream(upstream)),
      waiting: (turn) => run.waiting(turn),
      preview: (file) => run.preview(file),
      download: (url, file, options) => run.download(url, file, options),
    }
  }

  function hideFound(found: Reconciled): Reconciled {
    if (found.state === 'unknown') return found
    const upstream = hideUpstream(found.upstream)
    if (found.state === 'failed') return { state: 'failed', error: reword(found.error), ...(upstream && { upstream }) }
    return { state: 'known', checkpoint: hide(found.checkpoint), ...(upstream && { upstream }) }
  }

  function findMissing(spec: EngineSpec): string | undefined {
    return engine.secretsOf?.(spec).find((name) => secrets.valueOf(name) === undefined)
  }

  const { mayBePaid, reconcile, cancel, findFault, checkProvider } = engine
  return {
    kind: engine.kind,
    schema: engine.schema,
    ...(engine.provider && { provider: engine.provider }),
    ...(findFault && { findFault: (spec) => findFault.call(engine, spec) }),
    secretsOf: (spec) => engine.secretsOf?.(spec) ?? [],
    ...(checkProvider && {
      checkProvider: async (provider, timeoutMs) => {
        const check = await guard(checkProvider.call(engine, provider, timeoutMs))
        return { ...check, reason: check.reason === null ? null : secrets.hide(check.reason) }
      },
    }),
    waits: (spec) => engine.waits(spec),
    afterLoss: (spec, checkpoint) => engine.afterLoss(spec, checkpoint),
    ...(mayBePaid && { mayBePaid: (spec, checkpoint) => mayBePaid.call(engine, spec, checkpoint) }),
    close: () => engine.close(),
    async unready(spec) {
      const missing = findMissing(spec)
      if (missing !== undefined) return describeMissing(missing)
      const reason = await guard(engine.unready(spec))
      return reason === null ? null : secrets.hide(reason)
    },
    run: (spec, run) => guard(engine.run(spec, guardRun(run))),
    ...(reconcile && { reconcile: async (spec, past) => hideFound(await guard(reconcile.call(engine, spec, past))) }),
    ...(cancel && { cancel: async (spec, past) => hideUpstream(await guard(cancel.call(engine, spec, past))) ?? null }),
  }
}
