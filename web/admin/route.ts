// The addresses of the operator's console as URL fragments: `#/jobs?status=queued`, `#/accounts/acct_…`.

/** The pages, in the order of the navigation. */
export const pageNames = [
  'overview',
  'accounts',
  'keys',
  'sessions',
  'usage',
  'jobs',
  'reviews',
  'models',
  'webhooks',
  'files',
  'audit',
] as const

export type PageName = (typeof pageNames)[number]

/** Where one is. */
export interface Route {
  readonly page: PageName | 'nowhere'
  /** What of it; empty for all. */
  readonly id: string
  /** The filter. */
  readonly query: URLSearchParams
}

/** The route of a fragment. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const [head = '', ...rest] = path.split('/')
  const page = head === '' ? 'overview' : (pageNames.find((name) => name === head) ?? 'nowhere')
  return { page, id: decode(rest.join('/')), query: new URLSearchParams(query) }
}

/** The fragment of a page; filters that are empty are left out. */
export function toHash(page: PageName, id = '', query: Readonly<Record<string, string>> = {}): string {
  const filled = Object.entries(query).filter(([, value]) => value !== '')
  const path = page === 'overview' ? '#/' : `#/${page}${id === '' ? '' : `/${encodeURIComponent(id)}`}`
  return filled.length === 0 ? path : `${path}?${new URLSearchParams(filled).toString()}`
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
