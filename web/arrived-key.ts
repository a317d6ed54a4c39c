// The key to begin with: that of this browser, or one in the link that opened the page. A link is not a wish of the user, so it
// replaces no other key by itself, and its key is tried before anything is kept.
import { createApi } from './api.ts'
import { button, element, uniqueId } from './element.ts'
import type { CategoryRecord, ListRecord } from './records.ts'
import { explain } from './refusal-words.ts'
import { findKey, isRemembered, keepKey, readKey, takeArrivedKey } from './session.ts'
import { readSignIn } from './sign-in.ts'

/** What a page begins with. */
export interface FoundKey {
  readonly key: string | null
  /** Why the key of the link was refused. */
  readonly refusal?: unknown
}

/** Rejects if a key is not to be kept. */
export type CheckKey = (key: string) => Promise<unknown>

/** The key to begin with; asks whether the key of a link replaces another one. */
export async function settleKey(check: CheckKey = tryKey): Promise<FoundKey> {
  const arrived = takeArrivedKey()
  const kept = readKey()
  if (arrived === null || arrived === kept) return { key: await findKey() }
  if (kept !== null) return { key: (await askToReplace(begin(kept), arrived, check)) ? arrived : kept }
  const { person } = await readSignIn()
  if (person !== null) return { key: (await askToReplace(person, arrived, check)) ? arrived : await findKey() }
  try {
    await check(arrived)
  } catch (refusal) {
    return { key: null, refusal }
  }
  keepKey(arrived, false)
  return { key: arrived }
}

let categories: ListRecord<CategoryRecord> | null = null

/** Rejects if the server does not take a key. */
export async function tryKey(key: string): Promise<void> {
  // The one route that needs a valid key and no permission.
  categories = await createApi(key, () => {}).get<ListRecord<CategoryRecord>>('/v1/models/categories')
}

/** The list that a key was tried with, which nobody has to ask for again; null after the first call. */
export function takeCategories(): ListRecord<CategoryRecord> | null {
  const taken = categories
  categories = null
  return taken
}

/** Whether the user wanted the other key, which works and is kept then. */
function askToReplace(who: string, arrived: string, check: CheckKey): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const titleId = uniqueId('replace')
  const error = element('p', { class: 'field-error', role: 'alert' })
  const replace = button('Use the other key', () => void useArrived(), { look: 'quiet' })
  async function useArrived(): Promise<void> {
    replace.disabled = true
    try {
      await check(arrived)
      keepKey(arrived, isRemembered())
      resolve(true)
      dialog.close()
    } catch (refusal) {
      error.textContent = explain(refusal).detail
      replace.disabled = false
    }
  }
  const dialog: HTMLDialogElement = element(
    'dialog',
    {
      class: 'dialog',
      'aria-labelledby': titleId,
      onclose: () => {
        dialog.remove()
        resolve(false)
      },
    },
    element(
      'div',
      { class: 'dialog-body' },
      element('header', {}, element('h2', { id: titleId }, 'This link has another API key')),
      element(
        'p',
        {},
        'You are signed in as ',
        element('code', {}, who),
        ', and the link has ',
        element('code', {}, begin(arrived)),
        '. With the other key you work for its account, and your drafts here are forgotten. Use it only if you know where the link comes from.',
      ),
      error,
      element(
        'p',
        { class: 'dialog-buttons' },
        button('Stay signed in as you are', () => dialog.close(), { look: 'primary' }),
        replace,
      ),
    ),
  )
  document.body.append(dialog)
  dialog.showModal()
  return promise
}

/** How the text of a key begins, as lists of keys show it. */
function begin(key: string): string {
  return `${key.slice(0, 8)}…`
}
