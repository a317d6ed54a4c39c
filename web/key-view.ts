// Asks for the API key, and tests it before storing it.
import { type CheckKey, tryKey } from './arrived-key.ts'
import { element, icon } from './element.ts'
import { explain } from './refusal-words.ts'
import { keepKey } from './session.ts'
import { signInWay } from './sign-in.ts'

/** A page with one field; `onKey` is called with a valid key. */
export function keyView(onKey: (key: string) => void, refusal?: unknown): HTMLElement {
  return element(
    'section',
    { class: 'welcome' },
    element('h1', {}, 'Pictures, video and sound, priced before they are made.'),
    element(
      'p',
      { class: 'lead' },
      'This is the console of a mediagen server. Enter an API key to see its models and what they cost.',
    ),
    keyForm(onKey, refusal),
  )
}

/** What a page with keys of another kind does differently. */
interface KeyFormOptions {
  readonly check?: CheckKey
  /** What is remembered with the key. */
  readonly remembered?: string
  /** How to get a key. */
  readonly help?: readonly (Node | string)[]
}

/** The field and its button; `onKey` is called with a valid key. */
export function keyForm(
  onKey: (key: string) => void,
  refusal?: unknown,
  {
    check = tryKey,
    remembered = 'the key and my drafts',
    help = [element('code', {}, 'npm start'), ' prints a key for a demo account.'],
  }: KeyFormOptions = {},
): HTMLElement {
  const field = element('input', {
    id: 'key-field',
    class: 'input mono',
    type: 'password',
    name: 'key',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'mgk_…',
    'aria-describedby': 'key-help key-error',
  })
  const error = element(
    'p',
    { id: 'key-error', class: 'field-error', role: 'alert' },
    refusal ? explain(refusal).detail : '',
  )
  const enter = element(
    'button',
    { class: 'button primary', type: 'submit' },
    element('span', {}, 'Continue'),
    icon('key'),
  )

  const remember = element('input', { type: 'checkbox', id: 'remember-key' })

  async function enterKey(): Promise<void> {
    const key = field.value.trim()
    error.textContent = ''
    if (key === '') {
      error.textContent = 'Enter an API key.'
      field.focus()
      return
    }
    enter.disabled = true
    try {
      await check(key)
      keepKey(key, remember.checked)
      onKey(key)
    } catch (caught) {
      error.textContent = explain(caught).detail
      field.setAttribute('aria-invalid', 'true')
      field.select()
    } finally {
      enter.disabled = false
    }
  }

  function submit(event: SubmitEvent): void {
    event.preventDefault()
    void enterKey()
  }
  return element(
    'form',
    { class: 'key-form', novalidate: true, onsubmit: submit },
    signInWay(),
    element('label', { for: 'key-field' }, 'API key'),
    element('div', { class: 'key-row' }, field, enter),
    error,
    element(
      'p',
      { class: 'remember' },
      remember,
      element('label', { for: 'remember-key' }, `Remember ${remembered} on this device`),
    ),
    element(
      'p',
      { id: 'key-help', class: 'fine' },
      'Otherwise nothing is kept when the last tab of this console is closed. ',
      ...help,
    ),
  )
}
