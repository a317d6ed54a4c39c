// The studio: a model's description, its form on one side, its results on the other.
import { Refused } from '@mediagen/client/errors.ts'
import { isAbort } from './api.ts'
import { toModeName } from './catalog-view.ts'
import { openCodeDialog } from './code-dialog.ts'
import { modelDescription } from './description.ts'
import { element, icon } from './element.ts'
import { toForm } from './form-model.ts'
import { createForm } from './form.ts'
import { createGenerateBar } from './generate-bar.ts'
import { formatCredits, isConstantPrice } from './job-words.ts'
import { catchFiles } from './loose-files.ts'
import { readLargestUpload } from './media-file.ts'
import { priceTable } from './price-table.ts'
import { problemNotice } from './problem-notice.ts'
import { createReadiness, type Readiness } from './readiness.ts'
import type { JsonObject, ModelDetailRecord, ModelRecord } from './records.ts'
import { toHash } from './route.ts'
import { showSamples } from './samples.ts'
import { keepDraft, readDraft, takeMedia } from './session.ts'
import { findSimilar, similarModels } from './similar-models.ts'
import { createStage } from './stage.ts'
import { canVary, openVariations } from './variations-dialog.ts'
import type { ViewDeps } from './view-deps.ts'

export function studioView(deps: ViewDeps, id: string): HTMLElement {
  const { catalog, signal } = deps
  const page = element('section', { class: 'studio', 'aria-busy': 'true' })
  document.title = `${id} · mediagen`

  async function load(): Promise<void> {
    try {
      const [model, models] = await Promise.all([catalog.detail(id), catalog.models()])
      if (signal.aborted) return
      document.title = `${model.name} · mediagen`
      const readiness = createReadiness(deps, id)
      page.replaceChildren(heading(model, [...models.values()]), readiness.element, workbench(deps, model, readiness))
      if (!models.has(id)) void readiness.check()
      page.removeAttribute('aria-busy')
    } catch (error) {
      if (isAbort(error)) return
      page.replaceChildren(backLink(), problemNotice(error, { label: 'Try again', run: () => void load() }))
      if (error instanceof Refused && error.code === 'model_not_found') void offerSimilar()
      page.removeAttribute('aria-busy')
    }
  }
  async function offerSimilar(): Promise<void> {
    const models = await catalog.models().catch(() => new Map<string, ModelRecord>())
    const similar = findSimilar(id, [...models.values()])
    if (similar.length > 0) page.append(similarModels(id, similar))
  }
  void load()
  return page
}

function heading(model: ModelDetailRecord, models: readonly ModelRecord[]): HTMLElement {
  const siblings = models.filter(({ product }) => product === model.product)
  const modes = siblings.map((sibling) =>
    element(
      'a',
      {
        class: 'mode',
        href: toHash({ view: 'model', id: sibling.id }),
        'aria-current': sibling.id === model.id ? 'page' : null,
      },
      toModeName(sibling.mode),
    ),
  )
  return element(
    'header',
    { class: 'studio-head' },
    element(
      'div',
      { class: 'studio-title' },
      backLink(),
      element('h1', {}, model.name),
      modes.length > 1 && element('nav', { class: 'modes', 'aria-label': 'Modes of this product' }, ...modes),
    ),
    modelDescription(model.description),
    element('p', { class: 'fine' }, describePrice(model)),
    priceTable(model),
    endNotice(model),
  )
}

/** When the model ends, and what comes after it; null for one without an end. */
function endNotice({ shutdown_date: day, replaced_by: successor }: ModelRecord): HTMLElement | null {
  if (!day) return null
  const over = Date.parse(day) <= Date.now()
  const date = new Date(day).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
  const link = successor && element('a', { href: toHash({ view: 'model', id: successor }) }, successor)
  const words = `${over ? 'Ended' : 'Ends'} on ${date}.`
  const rest = link ? [' Its successor is ', link, '.'] : []
  return element('p', { class: 'notice mild' }, element('span', {}, words, ...rest))
}

function backLink(): HTMLElement {
  return element('a', { class: 'back', href: '#/' }, icon('back'), 'Models')
}

function describePrice({ pricing }: ModelRecord): string {
  const credits = formatCredits(pricing.from_credits)
  if (isConstantPrice(pricing)) return credits
  return pricing.billing === 'usage' ? `Billed by usage, from ${credits}` : `From ${credits}`
}

function workbench(deps: ViewDeps, model: ModelDetailRecord, readiness: Readiness): HTMLElement {
  const schema = toForm(model)
  if (!schema)
    return element('p', { class: 'empty' }, 'The console has no form for the input of this model. Use the API instead.')
  const stage = createStage(deps, model, showSamples(model, useSample), () => bar.inputChanged())
  const { api, signal } = deps
  const form = createForm(schema, { onChange: changed, largestUpload: readLargestUpload(), api, signal })
  catchFiles(form.takeFiles, signal)
  const bar = createGenerateBar(deps, model, form, {
    onJob: stage.add,
    findEqual: stage.find,
    onReady: readiness.show,
    onVary: canVary(schema) ? vary : null,
    onCode: () => openCodeDialog({ origin: location.origin, model: model.id, input: form.read() }),
  })

  function vary(): void {
    if (schema && !form.complain()) openVariations(deps, model, schema, form.read(), stage.add)
  }
  function changed(): void {
    keepDraft(model.id, form.read())
    bar.inputChanged()
  }
  const draft = readDraft(model.id)
  if (draft) form.write(draft)
  const media = takeMedia(model.id)
  if (media) form.placeMedia(media)
  if (draft || media) changed()
  else bar.inputChanged()

  const panel = element(
    'form',
    { class: 'input-form', novalidate: true, onsubmit: submitted, onkeydown: shortcut, 'aria-label': 'Input' },
    form.element,
    bar.element,
  )
  function useSample(input: JsonObject): void {
    form.write(input)
    changed()
    panel.scrollIntoView({ block: 'start', behavior: 'smooth' })
    panel.querySelector<HTMLElement>('textarea, input, select, button')?.focus({ preventScroll: true })
  }
  function submitted(event: SubmitEvent): void {
    event.preventDefault()
    void bar.generate()
  }
  function shortcut(event: KeyboardEvent): void {
    if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey)) return
    event.preventDefault()
    void bar.generate()
  }
  return element('div', { class: 'workbench' }, panel, stage.element)
}
