// The routes of the console as URL fragments, and the key that may be in one.

export type Route =
  | { readonly view: 'models' }
  | { readonly view: 'model'; readonly id: string }
  | { readonly view: 'library' }
  | { readonly view: 'uploads' }
  | { readonly view: 'account' }
  | { readonly view: 'usage' }
  | { readonly view: 'keys' }
  | { readonly view: 'wallet' }
  | { readonly view: 'webhooks' }
  | { readonly view: 'job'; readonly id: string }
  | { readonly view: 'remix'; readonly id: string }
  | { readonly view: 'variations'; readonly id: string }
  | { readonly view: 'nowhere' }

/** The route of a fragment; one that is not an address of the console is the catalog. */
export function parseRoute(hash: string): Route {
  const path = hash.replace(/^#\/?/, '')
  const [head = '', ...rest] = path.split('/')
  const id = decode(rest.join('/'))
  // Some write the address of a model or a job as they would that of the list.
  if ((head === 'model' || head === 'models') && id !== '') return { view: 'model', id }
  if (head === 'jobs') return id === '' ? { view: 'library' } : { view: 'job', id }
  if ((head === 'job' || head === 'remix' || head === 'variations') && id !== '') return { view: head, id }
  if (isView(head)) return { view: head }
  const unknown = hash.startsWith('#/') && !['', 'model', 'models'].includes(head)
  return { view: unknown ? 'nowhere' : 'models' }
}

const places = ['library', 'uploads', 'account', 'usage', 'wallet', 'keys', 'webhooks'] as const

function isView(head: string): head is (typeof places)[number] {
  return (places as readonly string[]).includes(head)
}

/** The fragment of a route. Slashes of a model id are kept, as in the paths of the API. */
export function toHash(route: Route): string {
  if (route.view === 'model') return `#/model/${encodeURIComponent(route.id).replaceAll('%2F', '/')}`
  if (route.view === 'job' || route.view === 'remix' || route.view === 'variations')
    return `#/${route.view}/${encodeURIComponent(route.id)}`
  return route.view === 'models' ? '#/' : `#/${route.view}`
}

/** The key in `#key=mgk_…`, and the fragment without it; null if there is none. */
export function takeKey(hash: string): { readonly key: string; readonly rest: string } | null {
  const match = /(?:^#|&)key=([^&]+)(?:&(.*))?$/.exec(hash)
  if (!match?.[1]) return null
  return { key: decode(match[1]).trim(), rest: match[2] ? `#${match[2].replace(/^#/, '')}` : '' }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
