// Remembers whether models are ready, because asking their providers costs them and us a request.
import type { RemoteSpec } from './provider.ts'

const readyForMs = 60_000
const unreadyForMs = 10_000

/** Remembers answers. */
export interface ReadinessMemory {
  /**
   * The last answer while it is fresh, else another one.
   * @param isAboutProvider whether it is the same for all models of the provider
   */
  recall(spec: RemoteSpec, isAboutProvider: boolean, ask: () => Promise<string | null>): Promise<string | null>
}

/** Creates a memory of answers, by the settings that they are about. */
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
