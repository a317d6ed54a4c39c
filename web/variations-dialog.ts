// Makes variations: picks seeds and values, prices all of them before the press, and starts them as one set.
import { createIdempotencyKey, startGeneration } from '@mediagen/client/generate.ts'
import { largestSeed, mapSome, mostVariations, planVariations, setLabel } from '@mediagen/client/variations.ts'
import { isAbort } from './api.ts'
import { openDialog } from './dialog.ts'
import { element } from './element.ts'
import type { ChoiceField, ObjectField } from './form-model.ts'
import { formatCredits } from './job-words.ts'
import { problemNotice } from './problem-notice.ts'
import type { JobRecord, Json, JsonObject, ModelDetailRecord, QuoteRecord } from './records.ts'
import type { ViewDeps } from './view-deps.ts'

const seedCounts = [1, 4, 8, 12]
const settleMs = 300

interface Priced {
  readonly input: JsonObject
  readonly quote: QuoteRecord
}

/** Opens the dialog; `onJob` gets each job that was started. */
export function openVariations(
  { api, balance, signal }: ViewDeps,
  model: ModelDetailRecord,
  form: ObjectField,
  input: JsonObject,
  onJob: (job: JobRecord) => void,
): void {
  const firstSeed = Math.floor(Math.random() * largestSeed)
  const closed = new AbortController()
  const stop = AbortSignal.any([signal, closed.signal])
  const words = element('p', { class: 'fine', role: 'status' })
  const trouble = element('div', {})
  const go = element('button', { type: 'submit', class: 'button primary', disabled: true }, 'Make them')
  const seeds = form.fields.some(({ name, kind }) => name === 'seed' && kind === 'number') ? seedRow() : null
  const choices = form.fields.filter((field): field is ChoiceField => field.kind === 'choice' && !field.advanced)
  const rows = choices.map((field) => valueRow(field, input[field.name] ?? field.fallback))
  let priced: readonly Priced[] = []
  let pricing = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined

  function plan(): JsonObject[] {
    const picked = rows.map(({ field, read }) => [field.name, read()] as const)
    // A value that the form leaves out stays out where nothing else was picked.
    const values = picked.filter(([name, chosen]) => chosen.length > 1 || (chosen.length === 1 && name in input))
    return planVariations(input, { seeds: seeds?.read() ?? 1, values: new Map(values) }, firstSeed)
  }
  function changed(): void {
    clearTimeout(timer)
    pricing.abort()
    priced = []
    go.disabled = true
    trouble.replaceChildren()
    const inputs = plan()
    words.textContent = describeCount(inputs.length, seeds !== null)
    if (inputs.length > 1 && inputs.length <= mostVariations) timer = setTimeout(() => void price(inputs), settleMs)
  }
  async function price(inputs: readonly JsonObject[]): Promise<void> {
    pricing = new AbortController()
    const asked = AbortSignal.any([stop, pricing.signal])
    try {
      const quotes = await mapSome(inputs, (one) =>
        api.post<QuoteRecord>('/v1/quotes', { model: model.id, input: one }, { signal: asked }),
      )
      priced = inputs.map((one, index) => ({ input: one, quote: quotes[index] as QuoteRecord }))
      const total = quotes.reduce((sum, { credits }) => sum + credits, 0)
      const available = balance.wallet?.available ?? Number.POSITIVE_INFINITY
      go.disabled = total > available
      go.textContent = `Make ${inputs.length} for ${formatCredits(total)}`
      if (total > available) words.textContent = `They cost ${formatCredits(total)}, and you have ${available}.`
    } catch (error) {
      if (!isAbort(error)) trouble.replaceChildren(problemNotice(error))
    }
  }
  async function make(): Promise<void> {
    if (go.disabled) return
    go.disabled = true
    const labels = { [setLabel]: createIdempotencyKey() }
    let started = 0
    try {
      await mapSome(priced, async (one) => {
        onJob(await startGeneration(api, model.id, one.input, { quote: one.quote, labels }))
        started += 1
      })
      dialog.close()
    } catch (error) {
      trouble.replaceChildren(problemNotice(error))
      words.textContent = `${started} of ${priced.length} were started.`
    } finally {
      balance.refresh()
    }
  }
  function seedRow() {
    const radios = seedCounts.map((count) => optionOf('radio', 'seeds', String(count), count === 4, changed))
    const read = (): number => seedCounts[radios.findIndex(({ input: radio }) => radio.checked)] ?? 1
    return { read, element: fieldset('Seeds', radios) }
  }
  function valueRow(field: ChoiceField, chosen: Json | undefined) {
    const boxes = field.options.map((option, index) =>
      optionOf('checkbox', field.name, field.words[index]?.title ?? String(option), option === chosen, changed),
    )
    const read = (): readonly Json[] => field.options.filter((_, index) => boxes[index]?.input.checked)
    return { field, read, element: fieldset(field.title, boxes) }
  }

  const body = element(
    'form',
    {
      class: 'variations',
      onsubmit: (event: SubmitEvent) => {
        event.preventDefault()
        void make()
      },
    },
    seeds?.element,
    ...rows.map((row) => row.element),
    trouble,
    element('div', { class: 'dialog-buttons' }, go, words),
  )
  const dialog = openDialog('Variations', [body], { onClose: () => closed.abort() })
  changed()
}

/** Whether a model has anything that could vary. */
export function canVary({ fields }: ObjectField): boolean {
  return fields.some((field) => field.name === 'seed' || (field.kind === 'choice' && !field.advanced))
}

function optionOf(type: 'radio' | 'checkbox', name: string, title: string, checked: boolean, onchange: () => void) {
  const input = element('input', { type, name: `vary-${name}`, checked, onchange })
  return { input, element: element('label', { class: 'vary-option' }, input, element('span', {}, title)) }
}

function fieldset(title: string, options: readonly { readonly element: HTMLElement }[]): HTMLElement {
  return element(
    'fieldset',
    {},
    element('legend', {}, title),
    element('div', { class: 'vary-options' }, ...options.map((option) => option.element)),
  )
}

function describeCount(count: number, hasSeed: boolean): string {
  if (count < 2)
    return hasSeed ? 'Pick several seeds, or several values of a setting.' : 'Pick several values of a setting.'
  return count > mostVariations ? `That makes ${count}; at most ${mostVariations} go together.` : `${count} variations`
}
