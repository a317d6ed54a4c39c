// Caches whether models are ready, because each question costs a request.
import type { RemoteSpec } from './provider.ts'

const readyForMs = 60_000
const unreadyForMs = 10_000

/** A cache of answers. */
export interface ReadinessMemory {
  /**
   * The cached answer while it is fresh, else a new one.
   * @param isAboutProvider whether it is the same for all models of the provider
   */
  recall(spec: RemoteSpec, isAboutProvider: boolean, ask: () => Promise<string | null>): Promise<string | null>
}

/** The settings that decide an answer are the key of the cache. */
export function createMemory(nowMs: () => number): ReadinessMemory {
  const known = new Map<string, { readonly answer: Promise<string | null>; untilMs: number }>()
  return {
    recall(spec, isAboutProvider, ask) {
      const { kind, provider, model, task, workflow, base_folder } = spec
      const key = isAboutProvider
        ? `${kind} ${provider.name}`
        : JSON.stringify([kind, provider.name, model, task, workflow && [base_folder, workflow]])
      const last = known.get(key)
      if (last && nowMs() < last.untilMs) return last.answer
      const entry = { answer: ask(), untilMs: Number.POSITIVE_INFINITY }
      known.set(key, entry)
      const settle = (reason: unknown): void => {
        entry.untilMs = nowMs() + (reason === null ? readyForMs : unreadyForMs)
      }
      entry.answer.then(settle, settle)
      return entry.answer
    },
  }
}
