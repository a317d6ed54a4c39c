// What every view of the console is given.
import type { Api } from './api.ts'
import type { Catalog } from './catalog.ts'

export interface Parts {
  readonly api: Api
  readonly catalog: Catalog
  /** Asks for the balance again, after something that changes it. */
  readonly refreshWallet: () => void
  /** Aborts when the person goes elsewhere. */
  readonly signal: AbortSignal
}
