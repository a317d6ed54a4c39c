// "Show as code": the current input as commands that can be run.
import { abridge, type SampleOptions, toBufCurl, toCurl } from './code-sample.ts'
import { button, element, uniqueId } from './element.ts'

const kinds = [
  { name: 'curl', toCode: toCurl, note: 'Needs curl and jq.' },
  {
    name: 'buf curl',
    toCode: toBufCurl,
    note: 'Run this in a checkout of mediagen, whose proto folder has the schema. Needs buf and jq.',
  },
] as const

/** Opens the dialog over the page. */
export function openCodeDialog(options: SampleOptions): void {
  const titleId = uniqueId('code')
  const code = element('code', {})
  const note = element('p', { class: 'fine' })
  const copy = button('Copy', () => void copyCode(), { icon: 'copy', look: 'primary' })
  let kind: (typeof kinds)[number] = kinds[0]

  function show(next: (typeof kinds)[number]): void {
    kind = next
    code.textContent = next.toCode({ ...options, input: abridge(options.input) as SampleOptions['input'] })
    note.textContent = next.note
  }
  async function copyCode(): Promise<void> {
    const words = copy.querySelector('span')
    try {
      await navigator.clipboard.writeText(kind.toCode(options))
      if (words) words.textContent = 'Copied'
    } catch {
      // Without the permission or TLS, the user copies by hand.
      getSelection()?.selectAllChildren(code)
      if (words) words.textContent = 'Selected'
    }
    setTimeout(() => {
      if (words) words.textContent = 'Copy'
    }, 2000)
  }
  const tabs = kinds.flatMap((one, index) => [
    element('input', {
      type: 'radio',
      name: titleId,
      id: `${titleId}-${index}`,
      checked: index === 0,
      onchange: () => show(one),
    }),
    element('label', { class: 'chip', for: `${titleId}-${index}` }, one.name),
  ])
  const dialog: HTMLDialogElement = element(
    'dialog',
    {
      class: 'code-dialog',
      'aria-labelledby': titleId,
      onclose: () => dialog.remove(),
      onclick: (event: MouseEvent) => event.target === dialog && dialog.close(),
    },
    element(
      'div',
      { class: 'dialog-body' },
      element(
        'header',
        {},
        element('h2', { id: titleId }, 'As code'),
        button('Close', () => dialog.close(), { icon: 'close', look: 'bare square', wordless: true }),
      ),
      element('div', { class: 'chips', role: 'group', 'aria-label': 'Language' }, ...tabs),
      element(
        'p',
        { class: 'fine' },
        'Set ',
        element('code', {}, 'MEDIAGEN_KEY'),
        ' to your key first. Long files are shortened here, but copied in full.',
      ),
      element('pre', { tabindex: '0' }, code),
      element('footer', {}, note, copy),
    ),
  )
  show(kind)
  document.body.append(dialog)
  dialog.showModal()
}
