// A button that unfolds a few choices below it; it folds when one is chosen, on Escape, and when the focus goes elsewhere.
import { button, element, icon } from './element.ts'

export interface MenuChoice {
  readonly label: string
  run(): void
}

/** Creates the menu. */
export function menu(label: string, choices: readonly MenuChoice[], look = 'quiet'): HTMLElement {
  const summary = element('summary', { class: `button ${look}` }, element('span', {}, label), icon('down'))
  const made: HTMLDetailsElement = element(
    'details',
    {
      class: 'menu',
      onkeydown: (event: KeyboardEvent) => {
        if (event.key !== 'Escape' || !made.open) return
        made.open = false
        summary.focus()
      },
      onfocusout: ({ relatedTarget }: FocusEvent) => {
        if (relatedTarget instanceof Node && !made.contains(relatedTarget)) made.open = false
      },
    },
    summary,
    element(
      'div',
      { class: 'menu-choices' },
      ...choices.map(({ label: words, run }) =>
        button(words, () => {
          made.open = false
          run()
        }),
      ),
    ),
  )
  return made
}
