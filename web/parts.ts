// The parameters of every view.
import type { Api } from './api.ts'
import type { Catalog } from './catalog.ts'

export interface Parts {
  readonly api: Api
  readonly catalog: Catalog
  /** Reloads the balance, after it may have changed. */
  readonly refreshWallet: () => void
  /** Aborts when the user leaves the view. */
  readonly signal: AbortSignal
}
