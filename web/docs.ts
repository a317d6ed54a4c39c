// The API reference at /docs: reads /openapi.json, and shows the page that the URL names.
import { Refused } from '@mediagen/client/errors.ts'
import { createApi } from './api.ts'
import { openBar } from './bar.ts'
import { Catalog } from './catalog.ts'
import { createContents } from './docs/contents.ts'
import { readReference, type Reference } from './docs/document.ts'
import { modelView } from './docs/model-view.ts'
import { operationView } from './docs/operation-view.ts'
import { paragraphs } from './docs/words.ts'
import { button, element, linkButton } from './element.ts'
import { problemNotice } from './problem-notice.ts'
import type { JsonObject } from './records.ts'

const main = document.querySelector<HTMLElement>('#main') as HTMLElement
const navigation = document.querySelector<HTMLElement>('#navigation') as HTMLElement

let leaving = new AbortController()
let useKey: (entered: string | null) => void = () => {}
const bar = openBar((key) => useKey(key))

function overview({ description, groups }: Reference): HTMLElement {
  return element(
    'article',
    { class: 'reference-page article' },
    element('h1', {}, 'API reference'),
    ...paragraphs(description),
    element(
      'p',
      {},
      'Every request carries your key: ',
      element('code', {}, 'Authorization: Bearer mgk_…'),
      '. Requests that are tried here carry the key that you enter.',
    ),
    element(
      'table',
      {},
      element(
        'tbody',
        {},
        ...groups.map(({ name, description: about }) =>
          element('tr', {}, element('th', { scope: 'row' }, name), element('td', {}, about)),
        ),
      ),
    ),
    element(
      'p',
      {},
      linkButton('OpenAPI document', '/openapi.json', { icon: 'download', look: 'quiet' }),
      ' ',
      linkButton('Problems', '/problems', { icon: 'warning', look: 'quiet' }),
    ),
  )
}

function needsKey(): HTMLElement {
  return element(
    'article',
    { class: 'reference-page' },
    element('h1', {}, 'Models'),
    element('p', {}, 'Models and their input schemas are shown to whoever has a key of this server.'),
    button('Enter a key', bar.signIn, { icon: 'key', look: 'primary' }),
  )
}

function start(reference: Reference): void {
  const contents = createContents(reference)
  const place = element('div', { class: 'reference-place' })
  main.replaceChildren(element('div', { class: 'reference' }, contents.element, place))

  function find(hash: string): HTMLElement {
    const [, kind = '', rest = ''] = /^#\/(\w+)\/(.+)$/.exec(hash) ?? []
    const id = decodeURIComponent(rest)
    const key = bar.key()
    if (kind === 'model') return key === null ? needsKey() : modelView(id, key, leaving.signal)
    const operation = reference.operations.find((one) => one.id === id)
    if (!operation) return overview(reference)
    return operationView(operation, reference, { ...bar, signal: leaving.signal })
  }
  function show(focus: boolean): void {
    leaving.abort()
    leaving = new AbortController()
    const page = find(location.hash)
    place.replaceChildren(page)
    contents.mark(location.hash || '#/')
    document.title = `${page.querySelector('h1')?.textContent ?? 'API reference'} · mediagen`
    if (!focus) return
    scrollTo(0, 0)
    main.focus({ preventScroll: true })
  }
  async function addModels(known: string): Promise<void> {
    try {
      const models = await new Catalog(createApi(known, () => {})).models()
      const entries = [...models.values()].map(({ id, name, description, category }) => ({
        hash: `#/model/${encodeURIComponent(id).replaceAll('%2F', '/')}`,
        title: name,
        badge: '',
        group: 'Inputs of the models',
        words: `${id} ${name} ${description} ${category}`.toLowerCase(),
      }))
      contents.add(entries)
    } catch (error) {
      // A key that may not list models, or does not work: the rest of the reference needs none.
      if (!(error instanceof Refused)) throw error
    }
  }
  let listed: string | null = null
  useKey = (key) => {
    if (key !== null && listed === null) void addModels(key)
    listed = key
    if (location.hash.startsWith('#/model/')) show(false)
  }
  addEventListener('hashchange', () => show(true))
  show(false)
  if (bar.key() !== null) useKey(bar.key())
}

async function load(): Promise<void> {
  navigation.hidden = false
  navigation.querySelector('[data-view="docs"]')?.setAttribute('aria-current', 'page')
  try {
    const response = await fetch('/openapi.json')
    start(readReference((await response.json()) as JsonObject))
  } catch (error) {
    main.replaceChildren(problemNotice(error, { label: 'Try again', run: () => void load() }))
  }
}

document.querySelector('.skip')?.addEventListener('click', (event) => {
  // The URL fragment is the page; following the link would change it.
  event.preventDefault()
  main.focus()
})
void load()
