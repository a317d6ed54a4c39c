// The catalog view: products with their modes, filtered by search or category.
import { isAbort } from './api.ts'
import { toFirstLine } from './description.ts'
import { button, element, icon } from './element.ts'
import { formatCredits, isConstantPrice, toLocalUrl } from './job-words.ts'
import { problemNotice } from './problem-notice.ts'
import type { CategoryRecord, JobRecord, ListRecord, ModelRecord, ProductRecord } from './records.ts'
import { toHash } from './route.ts'
import { sampleCover } from './samples.ts'
import type { ViewDeps } from './view-deps.ts'

const typingPauseMs = 150
const coverJobs = 60
// Search and category persist while other views are open.
const filter = { search: '', category: '' }

/** The preview of an output; a waveform is shown uncropped, on the colour of its product. */
interface Cover {
  readonly url: string
  readonly isWave: boolean
}

export function catalogView({ api, catalog, signal }: ViewDeps): HTMLElement {
  document.title = 'Models · mediagen'
  const search = element('input', {
    type: 'search',
    class: 'input',
    placeholder: 'Search models',
    'aria-label': 'Search models',
    value: filter.search,
    oninput: searched,
  })
  const chips = element('div', { class: 'chips', role: 'group', 'aria-label': 'Category' })
  const grid = element('div', { class: 'products', 'aria-busy': 'true' })
  const count = element('p', { class: 'visually-hidden', role: 'status' })
  const covers = new Map<string, Cover>()
  let pause: ReturnType<typeof setTimeout> | undefined
  let asking = new AbortController()
  let showCards: () => void = () => {}

  async function load(): Promise<void> {
    asking.abort()
    asking = new AbortController()
    const current = AbortSignal.any([signal, asking.signal])
    try {
      const [products, models] = await Promise.all([catalog.products(filter, current), catalog.models()])
      if (current.aborted) return
      showCards = () => grid.replaceChildren(...products.data.map((product) => card(product, models, covers)))
      showCards()
      if (products.data.length === 0) grid.replaceChildren(nothing(filter.search, clearSearch))
      count.textContent = `${products.total} ${products.total === 1 ? 'model' : 'models'}`
      grid.removeAttribute('aria-busy')
    } catch (error) {
      if (!isAbort(error)) grid.replaceChildren(problemNotice(error, { label: 'Try again', run: () => void load() }))
    }
  }
  async function loadCategories(): Promise<void> {
    const { data } = await catalog.categories(signal).catch(() => ({ data: [] as readonly CategoryRecord[] }))
    const name = 'category'
    const options = [{ id: '', name: 'All' }, ...data]
    if (!options.some(({ id }) => id === filter.category)) filter.category = ''
    chips.replaceChildren(
      ...options.flatMap((option, index) => [
        element('input', {
          type: 'radio',
          name,
          id: `category-${index}`,
          checked: option.id === filter.category,
          onchange: () => choose(option.id),
        }),
        element(
          'label',
          { class: 'chip', for: `category-${index}` },
          option.name,
          'count' in option ? element('span', { class: 'count' }, String(option.count)) : null,
        ),
      ]),
    )
  }
  /** The newest output in this account becomes the cover of a model without samples. */
  async function loadCovers(): Promise<void> {
    const models = await catalog.models().catch(() => new Map<string, ModelRecord>())
    if ([...models.values()].every(({ samples }) => samples.length > 0)) return
    const { data } = await api
      .get<ListRecord<JobRecord>>(`/v1/jobs?status=succeeded&limit=${coverJobs}`, { signal })
      .catch(() => ({ data: [] as readonly JobRecord[] }))
    for (const { model, outputs } of data) {
      const seen = outputs.find(({ preview_url }) => preview_url !== null)
      if (!seen?.preview_url || covers.has(model)) continue
      const isWave = seen.content_type.startsWith('audio/')
      covers.set(model, { url: toLocalUrl(seen.preview_url, location.origin), isWave })
    }
    if (covers.size > 0) showCards()
  }
  function choose(category: string): void {
    filter.category = category
    void load()
  }
  function searched(): void {
    filter.search = search.value.trim()
    clearTimeout(pause)
    pause = setTimeout(() => void load(), typingPauseMs)
  }
  function clearSearch(): void {
    search.value = ''
    searched()
    search.focus()
  }
  function focusSearch(event: KeyboardEvent): void {
    if (event.key !== '/' || event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement)
      return
    event.preventDefault()
    search.focus()
  }

  addEventListener('keydown', focusSearch, { signal })
  void loadCategories()
  void load()
  void loadCovers()
  return element(
    'section',
    { class: 'catalog' },
    element(
      'header',
      { class: 'page-head' },
      element('h1', {}, 'What do you want to make?'),
      element('div', { class: 'search' }, icon('search'), search),
    ),
    chips,
    count,
    grid,
  )
}

function card(
  product: ProductRecord,
  models: ReadonlyMap<string, ModelRecord>,
  covers: ReadonlyMap<string, Cover>,
): HTMLElement {
  // The first mode that matches: the card is about what was searched for.
  const [first] = product.modes
  const name = first?.name ?? product.name
  const headline = element('a', { href: first ? toHash({ view: 'model', id: first.model }) : '#/' }, name)
  const others = product.modes.slice(1)
  const shown = product.modes.flatMap(({ model }) => models.get(model) ?? [])
  return element(
    'article',
    { class: 'product' },
    cover(
      product,
      sampleCover(shown),
      product.modes.map(({ model }) => covers.get(model)).find((seen) => seen !== undefined),
    ),
    element(
      'div',
      { class: 'product-words' },
      element('div', { class: 'product-head' }, element('h2', {}, headline), price(first && models.get(first.model))),
      element('p', {}, toFirstLine(shown[0]?.description ?? product.description)),
      others.length > 0 &&
        element(
          'ul',
          { class: 'modes', 'aria-label': 'Modes' },
          ...product.modes.map((mode) =>
            element(
              'li',
              {},
              element('a', { class: 'mode', href: toHash({ view: 'model', id: mode.model }) }, toModeName(mode.mode)),
            ),
          ),
        ),
    ),
  )
}

function price(model: ModelRecord | undefined): HTMLElement | null {
  if (!model) return null
  const { pricing } = model
  const credits = formatCredits(pricing.from_credits)
  const words = isConstantPrice(pricing) ? credits : `from ${credits}`
  return element('span', { class: 'price', title: pricing.summary }, words)
}

/** A sample, the newest preview, or a colour that is fixed for the product. */
function cover(product: ProductRecord, sample: HTMLElement | null, seen: Cover | undefined): HTMLElement {
  const frame = element('div', { class: 'cover', 'aria-hidden': sample ? null : 'true' })
  let hash = 0
  for (const character of product.id) hash = (hash * 31 + character.charCodeAt(0)) % 3600
  frame.style.setProperty('--hue', String(hash / 10))
  if (sample) frame.append(sample)
  else if (seen)
    frame.append(element('img', { class: seen.isWave ? 'wave' : null, src: seen.url, alt: '', loading: 'lazy' }))
  else frame.append(element('span', {}, product.name.slice(0, 1)))
  return frame
}

/** "text-to-image" as "Text to image". */
export function toModeName(mode: string): string {
  const words = mode.replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Says that there is nothing, and what to do. */
function nothing(search: string, clearSearch: () => void): HTMLElement {
  if (search !== '')
    return element(
      'p',
      { class: 'empty' },
      `No model matches “${search}”. `,
      button('Clear the search', clearSearch, { look: 'quiet small' }),
    )
  return element(
    'p',
    { class: 'empty' },
    'No models are ready to use. On the machine of the server, ',
    element('code', {}, 'mediagen admin providers check'),
    ' says what they wait for.',
  )
}
