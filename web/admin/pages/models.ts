// Every model of the catalog, with why it is not ready, and the providers.
import type { ModelState, ProviderState } from '../../../gen/mediagen/v1/admin_pb.ts'
import { button, element } from '../../element.ts'
import { failurePlace, pageFrame, type PageDeps, section } from '../deps.ts'
import { createFilters } from '../filters.ts'
import { keepLive } from '../live.ts'
import { createTable, emptyNote } from '../table.ts'
import { badge, countOf, formatNumber, type StateWords } from '../words.ts'

const pageSize = 500

export function modelsPage(deps: PageDeps): HTMLElement {
  const { admin, route, signal } = deps
  const filters = createFilters(
    'models',
    route.query,
    [
      { name: 'q', label: 'Search', placeholder: 'Name or id' },
      {
        name: 'state',
        label: 'State',
        options: [
          ['unready', 'not ready'],
          ['ready', 'ready'],
        ],
      },
      { name: 'provider', label: 'Provider', options: listProviders().then(toNames), all: 'All providers' },
    ],
    show,
  )
  const count = element('p', { class: 'fine', role: 'status' })
  const failure = failurePlace(() => void live.refresh())
  const table = modelTable(() => all.length === 0)
  let all: readonly ModelState[] = []

  function show(): void {
    const words = filters.get('q').toLowerCase().split(/\s+/)
    const [state, provider] = [filters.get('state'), filters.get('provider')]
    const found = all.filter(
      (one) =>
        words.every((word) => `${one.model} ${one.name} ${one.category}`.toLowerCase().includes(word)) &&
        (state === '' || (state === 'ready') === (one.unreadyReason === undefined)) &&
        (provider === '' || one.providers.includes(provider)),
    )
    const ready = all.filter(({ unreadyReason }) => unreadyReason === undefined).length
    count.textContent =
      all.length === 0
        ? ''
        : `${countOf(found.length, 'model')}${found.length === all.length ? '' : ` of ${formatNumber(all.length)}`} · ${formatNumber(ready)} ready, ${formatNumber(all.length - ready)} not ready`
    // What needs somebody comes first.
    table.show(found.toSorted((one, other) => Number(isReady(one)) - Number(isReady(other))))
  }
  async function read(signal: AbortSignal): Promise<void> {
    const models: ModelState[] = []
    while (true) {
      const page = await admin.listAllModels({ limit: pageSize, offset: models.length }, { signal })
      models.push(...page.models)
      if (page.models.length === 0 || models.length >= page.total) break
    }
    if (signal.aborted) return
    all = models
    show()
  }
  const live = keepLive(read, failure.show, signal)

  const providers = providerTable()
  const checking = failurePlace()
  const checked = element('p', { class: 'fine', role: 'status' })
  const check = button('Ask every provider now', () => void checkProviders(), { icon: 'again', look: 'quiet' })
  async function listProviders(): Promise<readonly ProviderState[]> {
    const { providers: known } = await admin.listProviders({}, { signal })
    providers.show(known)
    return known
  }
  async function checkProviders(): Promise<void> {
    check.disabled = true
    checked.textContent = 'Asking …'
    try {
      const { providers: asked } = await admin.checkProviders({}, { signal })
      providers.show(asked)
      checking.show(null)
      checked.textContent = `Asked at ${new Date().toLocaleTimeString('en-GB')}. Nothing was charged.`
      void live.refresh()
    } catch (error) {
      checked.textContent = ''
      checking.show(error)
    } finally {
      check.disabled = false
    }
  }
  return pageFrame(
    'Models & providers',
    { lead: 'What can run on this server, and what is in the way of the rest. Users see ready models only.' },
    filters.element,
    failure.element,
    count,
    table.element,
    section(
      'Providers',
      element('p', { class: 'section-actions' }, check, checked),
      checking.element,
      providers.element,
    ),
  )
}

const isReady = ({ unreadyReason }: ModelState): boolean => unreadyReason === undefined
const toNames = (providers: readonly ProviderState[]): (readonly [string, string])[] =>
  providers.map(({ provider }) => [provider, provider])

function modelTable(isEmpty: () => boolean) {
  return createTable<ModelState>({
    label: 'Models',
    keyOf: ({ model }) => model,
    columns: [
      {
        title: 'Model',
        cell: ({ model, name }) => [element('strong', {}, name), element('code', { class: 'id' }, model)],
      },
      {
        title: 'State',
        kind: 'wide',
        cell: ({ unreadyReason }) =>
          unreadyReason === undefined
            ? badge({ word: 'ready', tone: 'good' })
            : [badge({ word: 'not ready', tone: 'bad' }), element('span', { class: 'reason' }, unreadyReason)],
      },
      { title: 'Does', cell: ({ category }) => element('span', { class: 'nowrap' }, category) },
      {
        title: 'Runs on',
        cell: ({ kind, providers }) => (providers.length > 0 ? providers.join(', then ') : kind),
      },
      { title: 'Price', cell: ({ priceSummary }) => element('span', { class: 'small' }, priceSummary) },
    ],
    empty: () =>
      isEmpty()
        ? emptyNote('The catalog is empty. MEDIAGEN_CATALOG names its files.')
        : emptyNote('No models match. Try fewer words.'),
  })
}

function providerTable() {
  return createTable<ProviderState>({
    label: 'Providers',
    keyOf: ({ provider }) => provider,
    columns: [
      {
        title: 'Provider',
        cell: ({ provider, kind }) => [element('strong', {}, provider), element('span', { class: 'fine' }, kind)],
      },
      { title: 'Key', cell: ({ key }) => badge(keyWords[key] ?? { word: key, tone: 'still' }) },
      { title: 'Answers', cell: ({ answers }) => badge(describeAnswer(answers)) },
      {
        title: 'What to do',
        kind: 'wide',
        cell: ({ reason }) => reason ?? element('span', { class: 'soft' }, 'nothing'),
      },
      {
        title: 'Models',
        kind: 'number',
        cell: ({ models }) => {
          const waiting = models.filter(({ waitsFor }) => waitsFor !== undefined).length
          return waiting === 0 ? formatNumber(models.length) : `${formatNumber(models.length)}, ${waiting} not ready`
        },
      },
    ],
    empty: () =>
      emptyNote('The catalog names no providers: every model runs on this server. A catalog file can add some.'),
  })
}

const keyWords: Readonly<Record<string, StateWords>> = {
  works: { word: 'works', tone: 'good' },
  missing: { word: 'missing', tone: 'bad' },
  refused: { word: 'refused', tone: 'bad' },
  unknown: { word: 'unknown', tone: 'still' },
}

function describeAnswer(answers: boolean | undefined): StateWords {
  if (answers === undefined) return { word: 'not asked', tone: 'still' }
  return answers ? { word: 'yes', tone: 'good' } : { word: 'no', tone: 'bad' }
}
