// Asks who the operator is: by an API key with the permission admin, or at a provider of identities where the server has one.
import { element, linkButton } from '../element.ts'
import { keyForm } from '../key-view.ts'
import { explain } from '../refusal-words.ts'
import { checkOperator } from './client.ts'

/** A page with one field; `onKey` is called with a key that may administer. */
export function signInPage(onKey: (key: string) => void, refusal?: unknown): HTMLElement {
  const { signIn } = document.documentElement.dataset
  const key = keyForm(onKey, refusal, {
    check: checkOperator,
    remembered: 'the key',
    help: [
      'To make one, on the machine of the server: ',
      element('code', {}, 'mediagen keys create --account ID --permissions admin'),
    ],
  })
  const provider = signIn
    ? element(
        'p',
        { class: 'sign-in' },
        linkButton(`Sign in with ${signIn}`, '/sign-in?to=/admin', { icon: 'key', look: 'primary' }),
      )
    : null
  // A refusal of the browser's cookie is not about the field of the key.
  const trouble =
    refusal && provider ? element('p', { class: 'field-error', role: 'alert' }, explain(refusal).detail) : null
  return element(
    'section',
    { class: 'welcome' },
    element('h1', {}, 'Administration'),
    element(
      'p',
      { class: 'lead' },
      'For the operator of this mediagen server. It needs an API key with the permission admin; keys of users do not open it.',
    ),
    provider,
    trouble,
    key,
  )
}
