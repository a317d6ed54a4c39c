// A way to the form of a page where it is far below, as on a phone.
import { button } from '../element.ts'

/** A button that leads to the form; hidden where the form is beside the text. */
export function toTry(): HTMLElement {
  return button(
    'Try it',
    () => {
      const form = document.querySelector<HTMLElement>('.try')
      form?.scrollIntoView({ block: 'start' })
      form?.querySelector<HTMLElement>('input, textarea, select, button')?.focus({ preventScroll: true })
    },
    { look: 'primary to-try' },
  )
}
