// A dialog with a form: sent once, closed when the server took it, and open with its refusal in words otherwise.
import { openDialog } from '../dialog.ts'
import { button, element } from '../element.ts'
import { problemNotice } from '../problem-notice.ts'

export interface FormDialog<Values, Answer> {
  readonly title: string
  readonly fields: readonly Node[]
  /** The words of its button. */
  readonly label: string
  /** What the fields say; null while one of them is wrong, which is said beside it. */
  read(): Values | null
  send(values: Values): Promise<Answer>
  /** Called with the answer, when the dialog is closed. */
  sent(answer: Answer): void
}

/** Opens it. */
export function openForm<Values, Answer>({ title, fields, label, read, send, sent }: FormDialog<Values, Answer>): void {
  const trouble = element('div', {})
  const submit = element('button', { class: 'button primary', type: 'submit' }, element('span', {}, label))

  async function submitForm(): Promise<void> {
    const values = read()
    if (values === null || submit.disabled) return
    submit.disabled = true
    trouble.replaceChildren()
    try {
      const answer = await send(values)
      dialog.close()
      sent(answer)
    } catch (error) {
      submit.disabled = false
      trouble.replaceChildren(problemNotice(error))
    }
  }
  const form = element(
    'form',
    {
      class: 'dialog-form',
      novalidate: true,
      onsubmit: (event: SubmitEvent) => {
        event.preventDefault()
        void submitForm()
      },
    },
    ...fields,
    trouble,
    element(
      'div',
      { class: 'dialog-buttons' },
      submit,
      button('Cancel', () => dialog.close(), { look: 'quiet' }),
    ),
  )
  const dialog = openDialog(title, [form])
}
