// Pages of lists: the request and the result.

/** How large a page may be, and how far into a list it may begin. docs/contract.md, section 1, Lists. */
export const pageBounds = { usualLimit: 100, largestLimit: 500, largestOffset: 2 ** 31 - 1 } as const

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
