// The account's uploads: previews, retention, ids to copy, and deletion.
import { isAbort } from './api.ts'
import { copyButton } from './copy-button.ts'
import { askFirst } from './dialog.ts'
import { button, element, icon } from './element.ts'
import { describeKept } from './job-words.ts'
import { describeFacts } from './media-file.ts'
import { mediaPicture } from './media-picture.ts'
import { problemNotice } from './problem-notice.ts'
import type { FileRecord, ListRecord } from './records.ts'
import { toHash } from './route.ts'
import { recallMedia } from './session.ts'
import type { ViewDeps } from './view-deps.ts'

const pageSize = 24

export function uploadsView({ api, signal }: ViewDeps): HTMLElement {
  document.title = 'Uploads · mediagen'
  const grid = element('div', { class: 'tiles', 'aria-busy': 'true' })
  const count = element('p', { class: 'lead', role: 'status' })
  const trouble = element('div', {})
  const more = button('Show more', () => void load(), { look: 'quiet' })
  const shown = new Set<string>()
  let offset = 0
  let total = 0

  async function load(): Promise<void> {
    more.disabled = true
    trouble.replaceChildren()
    try {
      const query = new URLSearchParams({ limit: String(pageSize), offset: String(offset) })
      const page = await api.get<ListRecord<FileRecord>>(`/v1/files?${query.toString()}`, { signal })
      offset += page.data.length
      for (const file of page.data) {
        // One that moved to another page because of newer ones is not shown twice.
        if (!shown.has(file.file_id)) grid.append(createTile(file))
        shown.add(file.file_id)
      }
      more.hidden = !page.has_more
      tell(page.total)
    } catch (error) {
      if (!isAbort(error)) trouble.replaceChildren(problemNotice(error, { label: 'Try again', run: () => void load() }))
    } finally {
      more.disabled = false
      grid.removeAttribute('aria-busy')
    }
  }
  function tell(now: number): void {
    total = now
    count.textContent =
      total === 0
        ? 'No uploads yet. Files that you add to an input appear here.'
        : `${total.toLocaleString('en-US')} ${total === 1 ? 'file' : 'files'}`
  }
  function createTile(file: FileRecord): HTMLElement {
    const name = recallMedia(file.file_id)?.name ?? nameKind(file.content_type)
    const copy = copyButton('Copy id', () => file.file_id)
    const remove = button('Delete', () => void drop(file, remove, tile), { icon: 'bin', look: 'quiet small' })
    const tile = element(
      'article',
      { class: 'upload' },
      element('span', { class: 'tile-picture' }, mediaPicture({ type: file.content_type, picture: file.url })),
      element(
        'div',
        { class: 'tile-words' },
        element('b', { title: file.file_id }, name),
        element(
          'span',
          { class: 'fine' },
          `${describeFacts({ name, type: file.content_type, bytes: file.bytes, picture: null })} · ${describeKept({ url: file.url, kept_until: file.expires_at })}`,
        ),
        element('div', { class: 'actions' }, copy, remove),
      ),
    )
    return tile
  }
  async function drop(file: FileRecord, clicked: HTMLButtonElement, tile: HTMLElement): Promise<void> {
    const words = 'Queued generations that use it will fail, and their credits will be returned.'
    if (!(await askFirst('Delete this file?', words, { yes: 'Delete' }))) return
    clicked.disabled = true
    try {
      await api.remove(`/v1/files/${encodeURIComponent(file.file_id)}`, { signal })
      tile.remove()
      // The following ones have moved up.
      offset -= 1
      tell(total - 1)
    } catch (error) {
      clicked.disabled = false
      if (!isAbort(error)) trouble.replaceChildren(problemNotice(error))
    }
  }

  more.hidden = true
  void load()
  return element(
    'section',
    { class: 'uploads' },
    element('a', { class: 'back', href: toHash({ view: 'library' }) }, icon('back'), 'Library'),
    element('header', { class: 'page-head' }, element('h1', {}, 'Uploads'), count),
    trouble,
    grid,
    element('div', { class: 'more-row' }, more),
  )
}

function nameKind(contentType: string): string {
  return contentType.startsWith('image/') ? 'Picture' : contentType.startsWith('video/') ? 'Video' : 'Sound'
}
