// A job as a tile of a gallery: its picture or state, and a few words.
import { setLabel } from '@mediagen/client/variations.ts'
import { createDraftPicture, type DraftPicture } from './draft-picture.ts'
import { element, icon } from './element.ts'
import { describeLabels, describeStatus, explainEnd, formatAge, formatCredits, isTerminal } from './job-words.ts'
import { outputThumbnail } from './output-media.ts'
import type { JobRecord } from './records.ts'
import { toHash } from './route.ts'
import { describeInput } from './session.ts'

export interface JobTile {
  readonly element: HTMLAnchorElement
  show(job: JobRecord): void
  /** Says what tells it apart from tiles with the same words; nothing if it is empty. */
  distinguish(words: string): void
}

/** `name` labels the tile if the text of its input is not known. */
export function createJobTile(job: JobRecord, name: (model: string) => string): JobTile {
  const link = element('a', { class: 'tile', href: toHash({ view: 'job', id: job.job_id }) })
  const draft = createDraftPicture()
  const difference = element('span', { class: 'difference' })
  let shown = ''
  const tile: JobTile = {
    element: link,
    show(next) {
      draft.show(next)
      const state = `${next.status} ${next.progress} ${next.queue_position}`
      if (state === shown) return
      shown = state
      link.dataset['status'] = next.status
      // A line above the tiles says which are one set.
      const { [setLabel]: _, ...others } = next.labels
      const labels = describeLabels({ labels: others }).map((text) => element('span', { class: 'label-chip' }, text))
      const words = describeInput(next) ?? name(next.model)
      const money = next.credits > 0 ? ` · ${formatCredits(next.credits)}` : ''
      link.replaceChildren(
        picture(next, draft),
        element(
          'span',
          { class: 'tile-words' },
          element('b', {}, words),
          difference,
          element(
            'span',
            { class: 'fine' },
            `${formatAge(next.created_at, Date.now())}${next.status === 'succeeded' ? money : ` · ${describeStatus(next)}`}`,
          ),
          labels.length > 0 ? element('span', { class: 'labels' }, ...labels) : null,
        ),
      )
    },
    distinguish(words) {
      difference.textContent = words
    },
  }
  tile.show(job)
  return tile
}

function picture(job: JobRecord, draft: DraftPicture): HTMLElement {
  const frame = element('span', { class: 'tile-picture' })
  const [output] = job.outputs
  if (output) frame.append(outputThumbnail(output))
  else if (isTerminal(job.status))
    frame.append(
      icon(job.status === 'canceled' ? 'stop' : 'warning'),
      element('span', { class: 'tile-reason' }, explainEnd(job) ?? ''),
    )
  else frame.append(draft.element, element('progress', { max: 1, value: job.progress, 'aria-label': 'Progress' }))
  return frame
}
