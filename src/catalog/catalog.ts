// The catalog in use: all models, and which of them are ready now.
import type { Engine } from '@mediagen/engine/engine.ts'
import type { Clock } from '../core/clock.ts'
import type { Catalog, Model } from '../core/model.ts'

// Checking readiness looks at files and sockets, so a list of models may be out of date by this much.
const readyForMs = 5000

/** Creates a catalog of models; their engines are looked up by kind. */
export function createCatalog(models: readonly Model[], engines: ReadonlyMap<string, Engine>, clock: Clock): Catalog {
  const byId = new Map(models.map((model) => [model.id, model]))
  let ready: readonly Model[] = []
  let readyUntilMs = Number.NEGATIVE_INFINITY

  function unready(model: Model): string | null {
    const engine = engines.get(model.engine.kind)
    return engine ? engine.unready(model.engine) : `this server has no engine "${model.engine.kind}"`
  }

  return {
    ready() {
      const nowMs = clock.nowMs()
      if (nowMs >= readyUntilMs) {
        const now = models.filter((model) => unready(model) === null)
        // An unchanged list stays the same object, so values derived from it can be cached.
        if (now.length !== ready.length || now.some((model, index) => model !== ready[index])) ready = now
        readyUntilMs = nowMs + readyForMs
      }
      return ready
    },
    find: (id) => byId.get(id),
    unready,
  }
}
