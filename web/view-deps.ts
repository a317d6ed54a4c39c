// What every view depends on.
import type { Api } from './api.ts'
import type { Balance } from './balance.ts'
import type { Catalog } from './catalog.ts'

export interface ViewDeps {
  readonly api: Api
  readonly catalog: Catalog
  readonly balance: Balance
  /** Aborts when the user leaves the view. */
  readonly signal: AbortSignal
}
