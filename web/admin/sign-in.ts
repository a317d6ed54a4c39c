// Asks who the operator is: by an API key with the permission admin, or at a provider of identities where the server has one.
import { element } from '../element.ts'
import { keyForm } from '../key-view.ts'
import { checkOperator } from './client.ts'

/** A page with one field; `onKey` is called with a key that may administer. */
export function signInPage(onKey: (key: string) => void, refusal?: unknown): HTMLElement {
  const key = keyForm(onKey, refusal, {
    check: checkOperator,
    remembered: 'the key',
    help: [
      'To make one, on the machine of the server: ',
      element('code', {}, 'mediagen admin keys create --account ID --permissions admin'),
    ],
  })
  return element(
    'section',
    { class: 'welcome' },
    element('h1', {}, 'Administration'),
    element(
      'p',
      { class: 'lead' },
      'For the operator of this mediagen server. It needs an API key with the permission admin; keys of users do not open it.',
    ),
    key,
  )
}
