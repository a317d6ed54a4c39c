// The draft of a running job: one picture element, which keeps the last draft until the next one is loaded.
import { element } from './element.ts'
import { toLocalUrl } from './job-words.ts'
import type { JobRecord } from './records.ts'

export interface DraftPicture {
  /** Hidden until a draft is loaded. */
  readonly element: HTMLImageElement
  show(job: Pick<JobRecord, 'preview_url'>): void
}

/** `onLoad` is called with each draft that is shown. */
export function createDraftPicture(onLoad: (picture: HTMLImageElement) => void = () => {}): DraftPicture {
  const picture = element('img', { class: 'draft', alt: '', hidden: true, onload: loaded, onerror: lost })
  let shown = ''

  function loaded(): void {
    picture.hidden = false
    onLoad(picture)
  }
  // The file of a draft goes with the next but one, and when the job ends.
  function lost(): void {
    picture.hidden = true
  }
  return {
    element: picture,
    show({ preview_url }) {
      const url = preview_url === null ? '' : toLocalUrl(preview_url, location.origin)
      if (url === shown) return
      shown = url
      if (url === '') {
        picture.hidden = true
        picture.removeAttribute('src')
      } else picture.src = url
    },
  }
}
