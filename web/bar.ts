// The bar of the pages beside the console: who is signed in, the balance, and the way in and out.
import { createApi } from './api.ts'
import { settleKey } from './arrived-key.ts'
import { Balance } from './balance.ts'
import { openDialog } from './dialog.ts'
import { button, element } from './element.ts'
import { keyForm } from './key-view.ts'
import { followOtherTabs, forgetEverything } from './session.ts'
import { endSession, noKey, readSignIn } from './sign-in.ts'
import { walletBadge } from './wallet-badge.ts'

/** Who reads the page. */
export interface Bar {
  /** The key in use; null if nobody is signed in. */
  readonly key: () => string | null
  /** Asks for a key over the page. */
  readonly signIn: () => void
}

/** Fills the bar; `onKey` is called when somebody is signed in, and when they leave. */
export function openBar(onKey: (key: string | null) => void = () => {}): Bar {
  const account = document.querySelector<HTMLElement>('#account') as HTMLElement
  let key: string | null = null
  let session = new AbortController()

  function use(entered: string | null, person: string | null = null): void {
    key = entered
    session.abort()
    session = new AbortController()
    const { signal } = session
    if (entered === null) account.replaceChildren(button('Enter a key', signIn, { icon: 'key', look: 'quiet small' }))
    else
      account.replaceChildren(
        walletBadge(
          new Balance(
            createApi(entered, () => {}),
            signal,
          ),
          signal,
        ),
        ...(person === null ? [] : [element('span', { class: 'person', title: person }, person)]),
        button('Sign out', () => void signOut(), { icon: 'leave', look: 'bare square', wordless: true }),
      )
    onKey(entered)
  }
  function signIn(): void {
    const form = keyForm((entered) => {
      dialog.close()
      use(entered)
    })
    const dialog = openDialog('Your API key', [form])
  }
  async function signOut(): Promise<void> {
    if (key === noKey) await endSession()
    forgetEverything()
    use(null)
  }
  async function begin(): Promise<void> {
    const { key: found } = await settleKey()
    const person = found === null ? (await readSignIn()).person : null
    // The reader may have entered one meanwhile.
    if (key === null) use(found ?? (person === null ? null : noKey), person)
    followOtherTabs(use, () => use(null))
  }
  void begin()
  return { key: () => key, signIn }
}
