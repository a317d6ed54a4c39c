// Dialogs of the console's own, over the page: one with any content, and a question to confirm.
import { button, element, uniqueId } from './element.ts'

export interface OpenDialog {
  readonly element: HTMLDialogElement
  close(): void
}

/**
 * Opens a dialog over the page. The focus goes into it, and back to where it was when it closes.
 * @param options.onClose called once, however it was closed
 * @param options.keep a click beside it does not close it, as what it shows is shown only once
 */
export function openDialog(
  title: string,
  content: readonly (Node | string)[],
  options: { onClose?: () => void; keep?: boolean } = {},
): OpenDialog {
  const titleId = uniqueId('dialog')
  const closed = new AbortController()
  const dialog: HTMLDialogElement = element(
    'dialog',
    {
      class: 'dialog',
      'aria-labelledby': titleId,
      onclose: () => {
        closed.abort()
        dialog.remove()
        options.onClose?.()
      },
      onclick: (event: MouseEvent) => !options.keep && event.target === dialog && dialog.close(),
    },
    element(
      'div',
      { class: 'dialog-body' },
      element(
        'header',
        {},
        element('h2', { id: titleId }, title),
        button('Close', () => dialog.close(), { icon: 'close', look: 'bare square', wordless: true }),
      ),
      ...content,
    ),
  )
  document.body.append(dialog)
  // Back leads away from what it is about.
  addEventListener('hashchange', () => dialog.close(), { signal: closed.signal })
  dialog.showModal()
  dialog.querySelector<HTMLElement>('.dialog-body > :not(header) :is(input, .primary)')?.focus()
  return { element: dialog, close: () => dialog.close() }
}

/**
 * Asks before something that cannot be undone.
 * @param options.yes what its button says; the safe button has the focus
 * @returns whether the user agreed
 */
export function askFirst(
  title: string,
  words: string,
  options: { readonly yes: string; readonly no?: string },
): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  let agreed = false
  const no = button(options.no ?? 'Keep it', () => dialog.close(), { look: 'quiet' })
  const yes = button(
    options.yes,
    () => {
      agreed = true
      dialog.close()
    },
    { look: 'danger' },
  )
  const content = [element('p', {}, words), element('div', { class: 'dialog-buttons' }, yes, no)]
  const dialog = openDialog(title, content, { onClose: () => resolve(agreed) })
  no.focus()
  return promise
}
