// Picks files: chosen, dropped or pasted, or named by a URL or an upload id.
import { element, icon } from './element.ts'
import type { MediaField } from './form-model.ts'
import { describeKind, isReference } from './media-file.ts'
import { identify } from './text-control.ts'

export interface PickerOptions {
  readonly field: MediaField
  readonly inputId: string
  readonly describedBy: string
  /** Whether several files may be picked at once. */
  readonly many: boolean
  readonly onFiles: (files: readonly File[]) => unknown
  readonly onReference: (reference: string) => void
  /** Called with the error of the picked files; null if there is none. */
  readonly onTrouble: (words: string | null) => void
}

export interface MediaPicker {
  readonly element: HTMLElement
  focus(): void
}

export function createMediaPicker(options: PickerOptions): MediaPicker {
  const { field, inputId, describedBy, many, onFiles, onReference, onTrouble } = options
  const kind = describeKind(field)
  const input = element('input', {
    type: 'file',
    class: 'file',
    accept: field.accept,
    multiple: many,
    'aria-label': many ? `Add to ${field.title.toLowerCase()}` : null,
    onchange: chosen,
  })
  const zone = element(
    'div',
    { class: 'drop', ondragover: over, ondragleave: out, ondrop: dropped, onpaste: pasted },
    identify(input, inputId, describedBy),
    element(
      'span',
      { class: 'invitation' },
      icon('picture'),
      element(
        'span',
        {},
        element('b', {}, many ? `Add ${kind}s` : `Choose a ${kind}`),
        element('span', { class: 'by-hand' }, many ? ', or drop or paste them here' : ', or drop or paste it here'),
      ),
    ),
  )
  const address = element('input', {
    type: 'text',
    class: 'input address',
    autocomplete: 'off',
    spellcheck: 'false',
    inputmode: 'url',
    placeholder: 'or paste its address',
    'aria-label': `${field.title}: URL or file id`,
    onchange: entered,
    oninput: typed,
    onkeydown: submitted,
  })

  function chosen(): void {
    const files = [...(input.files ?? [])]
    // Allows choosing the same file again.
    input.value = ''
    if (files.length > 0) onFiles(files)
  }
  function over(event: DragEvent): void {
    event.preventDefault()
    zone.classList.add('over')
  }
  function out(): void {
    zone.classList.remove('over')
  }
  function dropped(event: DragEvent): void {
    event.preventDefault()
    event.stopPropagation()
    out()
    if (event.dataTransfer) takeTransfer(event.dataTransfer, 'text/uri-list')
  }
  function pasted(event: ClipboardEvent): void {
    if (!event.clipboardData) return
    event.preventDefault()
    event.stopPropagation()
    takeTransfer(event.clipboardData, 'text/plain')
  }
  function takeTransfer(data: DataTransfer, textType: string): void {
    const folder = [...data.items].some((item) => item.webkitGetAsEntry?.()?.isDirectory)
    if (folder) return onTrouble('Folders cannot be added. Choose the files inside instead.')
    if (data.files.length > 0) onFiles([...data.files])
    else enter(data.getData(textType).trim())
  }
  function enter(text: string): void {
    if (text === '') return onTrouble(null)
    if (!isReference(text))
      return onTrouble(
        'This is not the address of a file. An address begins with https:// or http://, and the id of an upload with file_.',
      )
    address.value = ''
    onTrouble(null)
    onReference(text)
  }
  function entered(): void {
    enter(address.value.trim())
  }
  function typed(event: InputEvent): void {
    onTrouble(null)
    // Pasted text is complete.
    if (event.inputType === 'insertFromPaste' && isReference(address.value.trim())) entered()
  }
  function submitted(event: KeyboardEvent): void {
    if (event.key !== 'Enter') return
    // Enter submits the URL, not the form.
    event.preventDefault()
    entered()
  }
  return { element: element('div', { class: 'picker' }, zone, address), focus: () => input.focus() }
}
