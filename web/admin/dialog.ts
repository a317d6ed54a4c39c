// Dialogs in which an operator acts: a form with the act as its button, refusals in words within it, and what came of it.
import { button, element, uniqueId } from '../element.ts'
import { problemNotice } from '../problem-notice.ts'
import { explainToOperator, toFailure } from './client.ts'
import { type Field, WrongField } from './fields.ts'

/** An act. */
export interface Act {
  readonly title: string
  /** What it does, and whether it can be undone. */
  readonly intro: readonly (Node | string)[] | string
  readonly fields?: readonly Pick<Field<unknown>, 'element'>[]
  /** The words of the button. */
  readonly label: string
  /** Whether it cannot be undone. */
  readonly isFinal?: boolean
  /** Whether what came of it is shown only this once: then only its button closes the dialog. */
  readonly isShownOnce?: boolean
  /** Does it. What it returns is shown until the operator closes the dialog; nothing closes it at once. */
  run(): Promise<Node | undefined | void>
  /** Called after it was done, when the dialog is closed. */
  done?(): unknown
}

/** Opens the dialog of an act. The browser gives the focus back to where it was. */
export function openAct({
  title,
  intro,
  fields = [],
  label,
  isFinal = false,
  isShownOnce = false,
  run,
  done,
}: Act): void {
  const titleId = uniqueId('act')
  const trouble = element('div', {})
  const act = element(
    'button',
    { type: 'submit', class: `button ${isFinal ? 'danger' : 'primary'}` },
    element('span', {}, label),
  )
  const cancel = button('Cancel', () => dialog.close(), { look: 'quiet' })
  let isDone = false

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    if (act.disabled) return
    act.disabled = cancel.disabled = true
    trouble.replaceChildren()
    try {
      const result = await run()
      isDone = true
      if (result) showResult(result)
      else dialog.close()
    } catch (error) {
      if (!(error instanceof WrongField))
        trouble.replaceChildren(problemNotice(toFailure(error), undefined, explainToOperator))
    } finally {
      act.disabled = cancel.disabled = false
    }
  }
  function showResult(result: Node): void {
    const close = button('Done', () => dialog.close(), { look: 'primary' })
    form.replaceWith(element('div', { class: 'act-form' }, result, element('p', { class: 'dialog-buttons' }, close)))
    close.focus()
  }
  const form = element(
    'form',
    { class: 'act-form', novalidate: true, onsubmit: (event: SubmitEvent) => void submit(event) },
    ...(typeof intro === 'string' ? [intro] : intro).map((one) =>
      typeof one === 'string' ? element('p', {}, one) : one,
    ),
    ...fields.map((field) => field.element),
    trouble,
    element('p', { class: 'dialog-buttons' }, ...(isFinal ? [cancel, act] : [act, cancel])),
  )
  const dialog: HTMLDialogElement = element(
    'dialog',
    {
      class: 'dialog',
      'aria-labelledby': titleId,
      onkeydown: (event: KeyboardEvent) => {
        // What comes of it would be missed.
        if (event.key === 'Escape' && (act.disabled || (isDone && isShownOnce))) event.preventDefault()
      },
      onclose: () => {
        dialog.remove()
        if (isDone) done?.()
      },
    },
    element('div', { class: 'dialog-body' }, element('header', {}, element('h2', { id: titleId }, title)), form),
  )
  document.body.append(dialog)
  // Leaving the page leaves its dialog.
  addEventListener('hashchange', () => (act.disabled || (isDone && isShownOnce) ? undefined : dialog.close()), {
    once: true,
  })
  dialog.showModal()
  const first = form.querySelector<HTMLElement>('input, select, textarea')
  ;(first ?? (isFinal ? cancel : act)).focus()
}
