// A button that copies a text, and says whether it could; and a text that is shown only once, with one.
import { button, element } from './element.ts'

const saidMs = 2000

/**
 * Creates the button.
 * @param read the text, when the button is pressed
 * @param shown the element with the text: without the permission or TLS it is selected, to be copied by hand
 */
export function copyButton(
  label: string,
  read: () => string,
  options: { look?: string; shown?: Element } = {},
): HTMLButtonElement {
  const made = button(label, () => void copy(), { icon: 'copy', look: options.look ?? 'quiet small' })
  const words = made.querySelector('span')
  words?.setAttribute('aria-live', 'polite')
  async function copy(): Promise<void> {
    const copied = await navigator.clipboard.writeText(read()).then(
      () => true,
      () => false,
    )
    if (!copied && options.shown) getSelection()?.selectAllChildren(options.shown)
    if (!words) return
    words.textContent = copied ? 'Copied' : options.shown ? 'Selected' : read()
    setTimeout(() => (words.textContent = label), saidMs)
  }
  return made
}

/** A secret that the server shows only once, to copy. */
export function shownOnce(secret: string, label: string, look = 'primary'): HTMLElement {
  const text = element('code', { class: 'secret', tabindex: '0', 'aria-label': label }, secret)
  return element(
    'div',
    { class: 'shown-once' },
    text,
    copyButton('Copy', () => secret, { look, shown: text }),
  )
}
