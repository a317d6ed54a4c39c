// A file for the model: chosen, dropped or pasted, as itself or as an address; shown; sent as a data: URI or an upload.
import { type Control, type ControlContext, createFrame } from './control.ts'
import { button, element, icon } from './element.ts'
import type { MediaField } from './form-model.ts'
import { formatBytes } from './job-words.ts'
import { toMediaReference } from './media-file.ts'
import { identify } from './text-control.ts'

export function mediaControl(field: MediaField, { onChange, largestMedia, upload }: ControlContext): Control {
  let uri: string | undefined
  // Counts files taken, so that one that is slow to arrive does not replace a later one.
  let taken = 0
  const input = element('input', { type: 'file', class: 'file', accept: 'image/*,video/*,audio/*', onchange: chosen })
  const preview = element('div', { class: 'preview', hidden: true })
  const note = element('p', { class: 'media-note', role: 'status' })
  const invitation = element(
    'span',
    { class: 'invitation' },
    icon('picture'),
    element('span', {}, element('b', {}, 'Choose a file'), ', drop one here, or paste one or its address'),
  )
  const frame = createFrame(field, ({ inputId, describedBy }) => [
    element(
      'div',
      { class: 'drop', ondragover: over, ondragleave: out, ondrop: dropped, onpaste: pasted },
      identify(input, inputId, describedBy),
      invitation,
      preview,
    ),
    note,
  ])
  const zone = frame.element.querySelector('.drop') as HTMLElement

  async function take(file: Blob | null | undefined): Promise<void> {
    if (!file) return
    const turn = (taken += 1)
    note.textContent = 'Reading…'
    frame.showError(null)
    try {
      const reference = await toMediaReference(file, largestMedia, upload, (fraction) => {
        if (turn === taken) note.textContent = `Uploading… ${Math.round(fraction * 100)} %`
      })
      if (turn !== taken) return
      show(reference, file.type, file.size)
      onChange()
    } catch (error) {
      if (turn !== taken) return
      note.textContent = ''
      frame.showError((error as Error).message)
    }
  }
  function show(next: string | undefined, fileType = '', bytes: number | null = null): void {
    uri = next
    note.textContent = ''
    invitation.hidden = next !== undefined
    preview.hidden = next === undefined
    zone.classList.toggle('filled', next !== undefined)
    if (next === undefined) return preview.replaceChildren()
    const type = /^data:([\w/+.-]+)/.exec(next)?.[1] ?? fileType
    const shown = type.startsWith('image/')
      ? element('img', { src: next, alt: `${field.title}, as it will be sent` })
      : element('span', { class: 'invitation' }, icon('picture'), type || shorten(next))
    const size =
      bytes ?? (next.startsWith('data:') ? Math.floor(((next.length - next.indexOf(',') - 1) * 3) / 4) : null)
    const facts = element(
      'span',
      { class: 'fine' },
      [type.replace(/^\w+\//, '').toUpperCase(), size === null ? '' : formatBytes(size)].filter(Boolean).join(' · '),
    )
    preview.replaceChildren(
      shown,
      element('div', { class: 'preview-row' }, facts, button('Remove', remove, { icon: 'close', look: 'quiet' })),
    )
  }
  function remove(): void {
    taken += 1
    show(undefined)
    input.value = ''
    input.focus()
    onChange()
  }
  function chosen(): void {
    void take(input.files?.[0])
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
    out()
    void take(event.dataTransfer?.files[0])
  }
  function pasted(event: ClipboardEvent): void {
    const file = event.clipboardData?.files[0]
    const text = event.clipboardData?.getData('text/plain').trim() ?? ''
    if (!file && !/^(data:|https?:\/\/|file_)\S+$/i.test(text)) return
    event.preventDefault()
    event.stopPropagation()
    if (file) return void take(file)
    taken += 1
    show(text)
    onChange()
  }
  return {
    field,
    element: frame.element,
    read: () => uri,
    write: (value) => show(typeof value === 'string' ? value : undefined),
    showError: frame.showError,
    focus: () => input.focus(),
    child: () => undefined,
  }
}

/** An address as far as people read it. */
function shorten(reference: string): string {
  const [words = reference] = reference.split('?')
  return words.length > 60 ? `${words.slice(0, 30)}…${words.slice(-28)}` : words
}
