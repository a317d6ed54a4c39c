// Lists come in pages: which one is wanted, and what it is.

/** One page of a list, and the total count. */
export interface Page<Item> {
  readonly items: readonly Item[]
  readonly total: number
}

/** The requested page of a list. */
export interface PageRequest {
  readonly limit: number
  readonly offset: number
}
