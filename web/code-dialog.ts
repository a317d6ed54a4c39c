// "Show as code": the current input as code that can be run.
import { abridge, type SampleOptions, samples } from './code-sample.ts'
import { codeTabs } from './code-tabs.ts'
import { openDialog } from './dialog.ts'
import { element } from './element.ts'

/** Opens the dialog over the page. */
export function openCodeDialog(options: SampleOptions): void {
  const words = element(
    'p',
    { class: 'fine' },
    'Set ',
    element('code', {}, 'MEDIAGEN_KEY'),
    ' to your key first. Long files are shortened here, but copied in full. ',
    element('a', { href: '/docs' }, 'The API reference'),
    ' has the rest.',
  )
  const dialog = openDialog('As code', [words, generationTabs(() => options).element])
  dialog.element.classList.add('code-dialog')
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
