// "Show as code": the current input as code that can be run.
import { abridge, type SampleOptions, samples } from './code-sample.ts'
import { codeTabs } from './code-tabs.ts'
import { button, element, uniqueId } from './element.ts'

/** Opens the dialog over the page. */
export function openCodeDialog(options: SampleOptions): void {
  const titleId = uniqueId('code')
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
      element(
        'p',
        { class: 'fine' },
        'Set ',
        element('code', {}, 'MEDIAGEN_KEY'),
        ' to your key first. Long files are shortened here, but copied in full. ',
        element('a', { href: '/docs' }, 'The API reference'),
        ' has the rest.',
      ),
      generationTabs(() => options).element,
    ),
  )
  document.body.append(dialog)
  dialog.showModal()
}

/** A generation in every language. */
export function generationTabs(read: () => SampleOptions): ReturnType<typeof codeTabs> {
  return codeTabs(
    samples.map(({ name, note, toCode }) => ({
      name,
      note,
      toCode(use) {
        const options = read()
        return toCode(
          use === 'copy' ? options : { ...options, input: abridge(options.input) as SampleOptions['input'] },
        )
      },
    })),
  )
}
