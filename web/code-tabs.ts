// Code in several languages, one shown at a time, with a button that copies it.
import { copyButton } from './copy-button.ts'
import { element, uniqueId } from './element.ts'

/** The code in one language. */
export interface CodeTab {
  readonly name: string
  /** What it needs. */
  readonly note: string
  /** The code; where it is only shown, long values may be cut. */
  readonly toCode: (use: 'show' | 'copy') => string
}

// The language that was chosen last, for all tabs of the page.
let chosen = ''

/** Creates the tabs. `refresh` shows what the code is now. */
export function codeTabs(tabs: readonly CodeTab[]): {
  readonly element: HTMLElement
  refresh(): void
} {
  const groupId = uniqueId('code')
  const code = element('code', {})
  const note = element('p', { class: 'fine' })
  const copy = copyButton('Copy', () => shown?.toCode('copy') ?? '', { shown: code })
  let shown = tabs.find(({ name }) => name === chosen) ?? tabs[0]

  function refresh(): void {
    code.textContent = shown?.toCode('show') ?? ''
    note.textContent = shown?.note ?? ''
  }
  function show(tab: CodeTab): void {
    shown = tab
    chosen = tab.name
    refresh()
  }
  const choices = tabs.flatMap((tab, index) => [
    element('input', {
      type: 'radio',
      name: groupId,
      id: `${groupId}-${index}`,
      checked: tab === shown,
      onchange: () => show(tab),
    }),
    element('label', { class: 'chip', for: `${groupId}-${index}` }, tab.name),
  ])
  refresh()
  return {
    element: element(
      'div',
      { class: 'code-tabs' },
      element('div', { class: 'chips', role: 'group', 'aria-label': 'Language' }, ...choices),
      element('pre', { tabindex: '0', role: 'region', 'aria-label': 'Code' }, code),
      element('footer', {}, note, copy),
    ),
    refresh,
  }
}
