// "Try it": the fields of an operation, the code that they make, and the answer of this server.
import { codeTabs } from '../code-tabs.ts'
import { button, element, uniqueId } from '../element.ts'
import { toSamples } from '../request-sample.ts'
import { showAnswer } from './answer-view.ts'
import type { Operation, Parameter } from './document.ts'
import { takesFile, toRequest } from './try-request.ts'

/** Who tries it. */
export interface Reader {
  /** The key; null if there is none yet. */
  readonly key: () => string | null
  /** Asks for a key. */
  readonly signIn: () => void
  /** Aborts when the page is left. */
  readonly signal: AbortSignal
}

/** The form, the code and the place of the answer. */
export function tryView(operation: Operation, { key, signIn, signal }: Reader): HTMLElement {
  const fields = operation.parameters.map((parameter) => ({ parameter, field: parameterField(parameter) }))
  const { body: content } = operation
  const example = content?.type === 'application/json' ? JSON.stringify(content.example ?? {}, null, 2) : ''
  const bodyId = uniqueId('body')
  const body = element('textarea', { id: bodyId, class: 'input mono', rows: 8, spellcheck: 'false' }, example)
  const fileId = uniqueId('file')
  const file = element('input', { id: fileId, type: 'file' })
  const error = element('p', { class: 'field-error', role: 'alert' })
  const answer = element('div', { class: 'answer', hidden: true })
  const optional = fields.filter(({ parameter }) => !parameter.required)
  let under = new AbortController()

  const filled = () => ({
    values: new Map(fields.map(({ parameter, field }) => [parameter.name, field.value.trim()])),
    body: example === '' ? '' : body.value,
  })
  function read(): ReturnType<typeof toRequest> | null {
    try {
      const request = toRequest(operation, filled(), location.origin)
      error.textContent = ''
      return request
    } catch (thrown) {
      error.textContent = `The body is not JSON: ${(thrown as Error).message}.`
      return null
    }
  }
  const usual = toRequest(operation, filled(), location.origin)
  const tabs = codeTabs(
    toSamples(usual).map(({ name, note, code }) => ({
      name,
      note,
      toCode: () => toSamples(read() ?? usual).find((sample) => sample.name === name)?.code ?? code,
    })),
  )
  function send(event: SubmitEvent): void {
    event.preventDefault()
    const request = read()
    const missing = fields.find(({ parameter, field }) => parameter.required && field.value.trim() === '')
    if (missing) {
      error.textContent = `${missing.parameter.name} is required.`
      missing.field.focus()
      return
    }
    if (!request) return
    if (request.needsKey && key() === null) {
      signIn()
      return
    }
    under.abort()
    under = new AbortController()
    answer.hidden = false
    const chosen = takesFile(operation) ? (file.files?.[0] ?? null) : null
    void showAnswer(answer, { request, file: chosen, key: key(), signal: AbortSignal.any([signal, under.signal]) })
  }
  const form = element(
    'form',
    { class: 'try-form', novalidate: true, onsubmit: send, oninput: tabs.refresh },
    ...fields.filter(({ parameter }) => parameter.required).map(toRow),
    optional.length > 0 &&
      element(
        'details',
        { open: optional.length < 3 },
        element('summary', {}, 'Optional parameters'),
        element('div', { class: 'try-form' }, ...optional.map(toRow)),
      ),
    example !== '' && element('div', {}, element('label', { class: 'label', for: bodyId }, 'Body'), body),
    takesFile(operation) && element('div', {}, element('label', { class: 'label', for: fileId }, 'File'), file),
    error,
    element(
      'footer',
      {},
      element('button', { class: 'button primary', type: 'submit' }, 'Send'),
      operation.method !== 'GET' && element('p', { class: 'fine' }, 'This is a real request to this server.'),
      example !== '' && button('Reset', reset, { look: 'bare' }),
    ),
  )
  function reset(): void {
    body.value = example
    tabs.refresh()
  }
  return element(
    'section',
    { class: 'try', 'aria-label': 'Code, and a form to try it' },
    tabs.element,
    element('h2', {}, 'Try it'),
    form,
    answer,
  )
}

function parameterField({ name, schema, required, example }: Parameter): HTMLInputElement | HTMLSelectElement {
  const id = uniqueId(name)
  const options = schema['type'] === 'boolean' ? ['true', 'false'] : schema['enum']
  if (Array.isArray(options))
    return element(
      'select',
      { id, class: 'input select' },
      element('option', { value: '' }, ''),
      ...options.map((option) => element('option', {}, String(option))),
    )
  const { default: fallback } = schema
  // A key for one intended generation: the example of the document would be replayed for ever.
  const value = name === 'Idempotency-Key' ? crypto.randomUUID() : required ? example : ''
  const placeholder = fallback === undefined ? '' : JSON.stringify(fallback)
  return element('input', { id, class: 'input mono', value, placeholder, autocomplete: 'off', spellcheck: 'false' })
}

function toRow({ parameter, field }: { parameter: Parameter; field: HTMLElement }): HTMLElement {
  const { name, in: place, required } = parameter
  return element(
    'div',
    {},
    element(
      'label',
      { class: 'label', for: field.id },
      element('code', {}, name),
      element('span', { class: 'optional' }, [place, required ? 'required' : ''].filter(Boolean).join(', ')),
    ),
    field,
  )
}
