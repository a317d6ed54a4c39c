// A slot shows one file of an input: its upload with progress, its picture, or its error.
import { mayPass, Refused } from '@mediagen/client/errors.ts'
import { type Api, isAbort } from './api.ts'
import { button, element, icon } from './element.ts'
import { describeFacts, type MediaFacts, readReference } from './media-file.ts'
import { mediaPicture } from './media-picture.ts'
import type { FileRecord } from './records.ts'
import { explain } from './refusal-words.ts'
import { recallMedia, rememberMedia } from './session.ts'

/** The parameters of a slot. */
export interface SlotDeps {
  readonly api: Pick<Api, 'get' | 'json'>
  /** Aborts when the user leaves the view. */
  readonly signal: AbortSignal
  /** Called when the reference is known. */
  readonly onChange: () => void
}

export interface MediaSlot {
  readonly element: HTMLElement
  /** The reference for the input; undefined until the upload has finished. */
  readonly reference: string | undefined
  /** Why there is no reference; null if there is one. */
  readonly trouble: string | null
  /** Aborts the upload. */
  drop(): void
}

/** Shows and uploads a file, or shows the file of a reference; `removed` is called by the remove button. */
export function createMediaSlot(
  source: File | string,
  { api, signal, onChange }: SlotDeps,
  removed: () => void,
): MediaSlot {
  const leaving = new AbortController()
  const either = AbortSignal.any([signal, leaving.signal])
  let reference = typeof source === 'string' ? source : undefined
  let trouble: string | null = null

  const picture = element('span', { class: 'slot-picture' })
  const name = element('b', { class: 'slot-name' })
  const facts = element('p', { class: 'fine', role: 'status' })
  const progress = element('progress', { max: 1, value: 0, 'aria-label': 'Upload', hidden: true })
  const again = button('Try again', () => void (source instanceof File ? send(source) : lookUp(source)), {
    icon: 'again',
    look: 'quiet small',
  })
  const remove = button('Remove', removed, { icon: 'close', look: 'bare square', wordless: true })
  const slot = element(
    'div',
    { class: 'slot' },
    picture,
    element('div', { class: 'slot-words' }, name, facts, progress, again),
    remove,
  )

  function show(known: MediaFacts): void {
    name.textContent = known.name ?? ''
    name.title = known.name ?? ''
    slot.classList.remove('failed')
    again.hidden = true
    remove.ariaLabel = `Remove ${known.name ?? 'the file'}`
    facts.replaceChildren(describeFacts(known))
    picture.replaceChildren(mediaPicture(known))
  }
  function fail(words: string, retry: boolean): void {
    trouble = words
    slot.classList.add('failed')
    facts.replaceChildren(icon('warning'), words)
    again.hidden = !retry
    progress.hidden = true
  }
  async function send(file: File): Promise<void> {
    const known = { name: file.name || 'Pasted', type: file.type || null, bytes: file.size, picture: toPicture(file) }
    show(known)
    progress.hidden = false
    progress.value = 0
    trouble = 'The file is still being uploaded.'
    facts.replaceChildren(`Uploading, ${describeFacts(known)}`)
    try {
      const record = await api.json<FileRecord>('/v1/files', {
        content: file,
        onProgress: (fraction) => (progress.value = fraction),
        signal: either,
      })
      rememberMedia(record.file_id, { ...known, type: record.content_type })
      reference = record.file_id
      trouble = null
      progress.hidden = true
      show({ ...known, type: record.content_type })
      onChange()
    } catch (error) {
      if (isAbort(error)) return
      // The same file would be refused again, unless space or time was lacking.
      const retry = !(error instanceof Refused) || error.problem.retryable || error.problem.code === 'too_many_uploads'
      fail(explain(error).detail, retry)
    }
  }
  async function lookUp(id: string): Promise<void> {
    try {
      const record = await api.get<FileRecord>(`/v1/files/${encodeURIComponent(id)}`, { signal: either })
      const known = { name: id, type: record.content_type, bytes: record.bytes, picture: record.url }
      rememberMedia(id, known)
      trouble = null
      show(known)
    } catch (error) {
      if (isAbort(error)) return
      fail(explain(error).detail, mayPass(error))
      // A missing file cannot be used; if the server did not say, it may exist.
      if (!mayPass(error)) reference = undefined
      onChange()
    }
  }

  again.hidden = true
  if (source instanceof File) void send(source)
  else {
    const known = recallMedia(source)
    show(known ?? readReference(source))
    if (!known && source.startsWith('file_')) void lookUp(source)
  }
  return {
    element: slot,
    get reference() {
      return reference
    },
    get trouble() {
      return trouble
    },
    drop: () => leaving.abort(),
  }
}

function toPicture(file: File): string | null {
  return /^(image|video)\//.test(file.type) ? URL.createObjectURL(file) : null
}
