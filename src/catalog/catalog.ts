// The catalog in use: all models, and which of them are ready by the latest answers of their engines.
import type { Engine } from '@mediagen/engine/engine.ts'
import type { Clock } from '../core/clock.ts'
import { createRound } from '../core/round.ts'
import { describeEnd, findEnd } from './lifetime.ts'
import type { Catalog, Model } from './model.ts'

// Interval of the checks. Engines read files and query other servers to answer, so answers may be this old …
const leastReadyForMs = 5000
// … or older in a large catalog: an idle server must not be busy with checks.
const readyForMsByModel = 3
// An engine that does not answer in time is not ready; its answer counts when it comes.
const answerMs = 5000

/** A catalog that checks its engines in the background. */
export interface CheckedCatalog extends Catalog {
  readonly models: readonly Model[]
  /** Checks now; resolves when the answers are up to date. */
  checkEngines(): Promise<void>
}

/** Creates a catalog of models; their engines are looked up by kind. No model is ready until its engine has answered. */
export function createCatalog(
  models: readonly Model[],
  engines: ReadonlyMap<string, Engine>,
  clock: Clock,
): CheckedCatalog {
  const byId = new Map(models.map((model) => [model.id, model]))
  const byAlias = new Map(models.flatMap((model) => model.aliases.map((alias) => [alias, model] as const)))
  const reasons = new Map<string, string | null>(models.map(({ id }) => [id, 'the server is still checking it']))
  const readyForMs = Math.max(leastReadyForMs, models.length * readyForMsByModel)
  let ready: readonly Model[] = []
  let checkAgainMs = Number.NEGATIVE_INFINITY

  async function checkEngine(model: Model): Promise<void> {
    const engine = engines.get(model.engine.kind)
    const reason = engine
      ? await engine.unready(model.engine).catch((error: unknown) => `the server cannot check it: ${String(error)}`)
      : `this server has no engine "${model.engine.kind}"`
    reasons.set(model.id, reason)
  }

  async function checkAll(): Promise<void> {
    checkAgainMs = clock.nowMs() + readyForMs
    const silent = new Set(models)
    const answers = models.map((model) => checkEngine(model).then(() => silent.delete(model)))
    const timer = Promise.withResolvers<void>()
    const late = setTimeout(timer.resolve, answerMs)
    await Promise.race([Promise.all(answers), timer.promise])
    clearTimeout(late)
    for (const { id } of silent) reasons.set(id, `what makes it did not answer within ${answerMs / 1000} seconds`)
    const now = models.filter((model) => reasons.get(model.id) === null && !endOf(model)?.isOver)
    // An unchanged list stays the same object, so values derived from it can be cached.
    if (now.length !== ready.length || now.some((model, index) => model !== ready[index])) ready = now
  }

  function endOf(model: Model): ReturnType<typeof findEnd> {
    return findEnd(model, clock.nowMs())
  }

  const checking = createRound(checkAll, () => {})
  function checkIfOld(): void {
    const leftMs = checkAgainMs - clock.nowMs()
    // More is left when the clock was put back.
    if (leftMs <= 0 || leftMs > readyForMs) checking.again()
  }

  return {
    models,
    ready() {
      checkIfOld()
      return ready
    },
    find: (id) => byId.get(id),
    resolve: (name) => byId.get(name) ?? byAlias.get(name),
    unready(model) {
      checkIfOld()
      const end = endOf(model)
      if (end?.isOver) return `it ${describeEnd(end)}`
      return reasons.get(model.id) ?? null
    },
    endOf,
    async checkEngines() {
      checking.again()
      await checking.settled()
    },
  }
}
