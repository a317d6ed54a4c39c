// Says why a model is not ready, for as long as that is so.
import { Refused } from '@mediagen/client/errors.ts'
import { isAbort } from './api.ts'
import { element } from './element.ts'
import { problemNotice } from './problem-notice.ts'
import type { QuoteRecord } from './records.ts'
import type { ViewDeps } from './view-deps.ts'

export interface Readiness {
  readonly element: HTMLElement
  /** Shows why the model is not ready; null if it is. */
  show(refusal: Refused | null): void
  /** Asks the server. */
  check(): Promise<void>
}

/** Shows nothing at first. */
export function createReadiness({ api, catalog, signal }: ViewDeps, model: string): Readiness {
  const place = element('div', { class: 'readiness' })
  const readiness: Readiness = {
    element: place,
    show(refusal) {
      if (refusal)
        place.replaceChildren(problemNotice(refusal, { label: 'Check again', run: () => void readiness.check() }))
      else place.replaceChildren()
    },
    async check() {
      try {
        // The model is looked at before the input: what is wrong with an empty one does not matter.
        await api.post<QuoteRecord>('/v1/quotes', { model, input: {} }, { signal })
      } catch (error) {
        if (isAbort(error)) return
        if (isUnready(error)) return readiness.show(error)
      }
      // Its name was missing in the list.
      catalog.forgetModels()
      readiness.show(null)
    },
  }
  return readiness
}

/** Whether a refusal says that the model is not ready, or has ended. */
export function isUnready(error: unknown): error is Refused {
  return error instanceof Refused && ['model_unavailable', 'model_ended'].includes(error.problem.code)
}
