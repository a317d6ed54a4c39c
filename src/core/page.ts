// Lists come in pages: which one is wanted, and what it is.

/** One page of a list: what is on it, and how many there are in all. */
export interface Page<Item> {
  readonly items: readonly Item[]
  readonly total: number
}

/** Which part of a list is wanted. */
export interface PageRequest {
  readonly limit: number
  readonly offset: number
}
