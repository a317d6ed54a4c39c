// The page of a model: its form and fields from its own schema, its price, and the code of the input in the form.
import { createApi, isAbort } from '../api.ts'
import { Catalog } from '../catalog.ts'
import { generationTabs } from '../code-dialog.ts'
import { explanation } from '../control.ts'
import { element, linkButton, uniqueId } from '../element.ts'
import { asObject, isObject, toForm } from '../form-model.ts'
import { createForm } from '../form.ts'
import { formatCredits } from '../job-words.ts'
import { readLargestUpload } from '../media-file.ts'
import { priceTable } from '../price-table.ts'
import { problemNotice } from '../problem-notice.ts'
import type { JsonObject, ModelDetailRecord, QuoteRecord } from '../records.ts'
import { schemaView } from './schema-view.ts'
import { toTry } from './to-try.ts'

/** The page; empty until the model is known. */
export function modelView(id: string, key: string, signal: AbortSignal): HTMLElement {
  const page = element('article', { class: 'reference-page tried', 'aria-busy': 'true' })
  const api = createApi(key, () => {})
  async function load(): Promise<void> {
    try {
      const model = await new Catalog(api).detail(id)
      if (!signal.aborted) {
        page.replaceChildren(...parts(model))
        document.title = `${model.name} · mediagen`
      }
    } catch (error) {
      if (!isAbort(error)) page.replaceChildren(problemNotice(error, { label: 'Try again', run: () => void load() }))
    }
    page.removeAttribute('aria-busy')
  }

  function parts(model: ModelDetailRecord): HTMLElement[] {
    const schema = findInputSchema(model.openapi)
    const fields = schema && schemaView(schema, model.openapi)
    return [
      element(
        'header',
        {},
        element('p', { class: 'fine' }, model.category),
        element('h1', {}, model.name),
        element('p', { class: 'route' }, element('code', {}, model.id)),
        toTry(),
        explanation(model.description, uniqueId('about')),
        element('p', { class: 'fine' }, `Price: ${model.pricing.summary}.`),
        priceTable(model) ?? element('span', {}),
      ),
      element('div', { class: 'what' }, element('section', {}, element('h2', {}, 'Input'), fields)),
      tryModel(model),
    ]
  }

  function tryModel(model: ModelDetailRecord): HTMLElement {
    const title = element('h2', {}, 'Try it')
    const field = toForm(model)
    if (!field) return element('section', { class: 'try' }, title)
    const price = element('p', { role: 'status' })
    const form = createForm(field, {
      onChange: () => tabs.refresh(),
      largestUpload: readLargestUpload(),
      api,
      signal,
    })
    form.write(exampleOf(model))
    const tabs = generationTabs(() => ({ origin: location.origin, model: model.id, input: form.read() }))
    async function ask(): Promise<void> {
      price.textContent = 'Asking…'
      try {
        const body = { model: model.id, input: form.read() }
        const quote = await api.post<QuoteRecord>('/v1/quotes', body, { signal })
        price.replaceChildren(
          element('strong', {}, formatCredits(quote.credits)),
          ' for this input; nothing was charged',
        )
      } catch (error) {
        if (!isAbort(error)) price.replaceChildren(problemNotice(error))
      }
    }
    function submitted(event: SubmitEvent): void {
      event.preventDefault()
      if (!form.complain()) void ask()
    }
    return element(
      'section',
      { class: 'try', 'aria-label': 'Code, and a form to try it' },
      tabs.element,
      title,
      element(
        'form',
        { class: 'try-form', novalidate: true, onsubmit: submitted },
        form.element,
        element(
          'footer',
          {},
          element('button', { class: 'button primary', type: 'submit' }, 'Get the price'),
          linkButton('Open in the console', `/#/model/${encodeURIComponent(model.id).replaceAll('%2F', '/')}`, {
            look: 'quiet',
          }),
          price,
        ),
      ),
    )
  }
  void load()
  return page
}

function findInputSchema(openapi: JsonObject): JsonObject | null {
  const [path] = Object.values(asObject(openapi['paths']))
  const content = asObject(asObject(asObject(path)['post'])['requestBody'])['content']
  const { schema } = asObject(asObject(content)['application/json'])
  return isObject(schema) ? schema : null
}

/** The first example of each required field. */
function exampleOf({ openapi }: ModelDetailRecord): JsonObject {
  const schema = asObject(findInputSchema(openapi) ?? {})
  const required = Array.isArray(schema['required']) ? schema['required'].map(String) : []
  const entries = required.flatMap((name) => {
    const { examples } = asObject(asObject(schema['properties'])[name])
    const [example] = Array.isArray(examples) ? examples : []
    return example === undefined ? [] : [[name, example] as const]
  })
  return Object.fromEntries(entries)
}
