// What only an operator sees of a job: its submissions to other servers, and the files of one under review.
import type { InspectJobResponse, UpstreamRun } from '../../gen/mediagen/v1/admin_pb.ts'
import type { Output } from '../../gen/mediagen/v1/generation_pb.ts'
import { element } from '../element.ts'
import { formatBytes, toLocalUrl } from '../job-words.ts'
import { player } from '../player.ts'
import { createTable, emptyNote } from './table.ts'
import { badge, type StateWords, timeOf } from './words.ts'

const verdicts: Readonly<Record<string, StateWords>> = {
  submitting: { word: 'being submitted', tone: 'busy' },
  accepted: { word: 'accepted', tone: 'busy' },
  refused: { word: 'refused', tone: 'bad' },
  unknown: { word: 'unknown', tone: 'bad' },
  succeeded: { word: 'succeeded', tone: 'good' },
  failed: { word: 'failed', tone: 'bad' },
  canceled: { word: 'canceled', tone: 'still' },
}

/** Submissions to other servers as a table; null if there are none. */
export function upstreamTable({ upstreamRuns }: Pick<InspectJobResponse, 'upstreamRuns'>): HTMLElement | null {
  if (upstreamRuns.length === 0) return null
  const table = createTable<UpstreamRun>({
    label: 'Submissions to providers',
    keyOf: ({ n }) => String(n),
    columns: [
      { title: 'Provider', cell: ({ provider }) => provider },
      {
        title: 'Its id of the run',
        kind: 'wide',
        cell: ({ upstreamId }) =>
          upstreamId === ''
            ? element('span', { class: 'soft' }, 'unknown')
            : element('code', { class: 'id' }, upstreamId),
      },
      { title: 'What it said', cell: ({ verdict }) => badge(verdicts[verdict] ?? { word: verdict, tone: 'still' }) },
      {
        title: 'It bills',
        cell: ({ cost }) =>
          cost ? element('span', { class: 'nowrap' }, cost) : element('span', { class: 'soft' }, 'not said'),
      },
      { title: 'Submitted', cell: ({ submittedAt }) => timeOf(submittedAt) },
      { title: 'Ended', cell: ({ endedAt }) => timeOf(endedAt) },
    ],
    empty: () => emptyNote('Nothing was submitted to another server.'),
  })
  table.show(upstreamRuns)
  return table.element
}

/** The files of a job under review; null if there are none. */
export function outputStrip({ outputs }: Pick<InspectJobResponse, 'outputs'>): HTMLElement | null {
  if (outputs.length === 0) return null
  return element('div', { class: 'review-files' }, ...outputs.map(toFigure))
}

function toFigure(output: Output, index: number): HTMLElement {
  const { contentType, bytes, width, height, durationSeconds, expired } = output
  const facts = [
    contentType,
    ...(width && height ? [`${width} × ${height}`] : []),
    ...(durationSeconds ? [`${durationSeconds.toFixed(1)} s`] : []),
    formatBytes(Number(bytes)),
  ].join(' · ')
  const caption = element('figcaption', { class: 'fine' }, facts)
  if (expired || output.url === '')
    return element('figure', {}, element('p', { class: 'empty' }, 'The file is gone: its retention is over.'), caption)
  const url = toLocalUrl(output.url, location.origin)
  const shown = showMedia(output, url, `File ${index + 1}`)
  caption.append(' · ', element('a', { href: url, target: '_blank', rel: 'noreferrer' }, 'open'))
  return element('figure', {}, shown, caption)
}

function showMedia({ contentType, ...shape }: Output, url: string, label: string): HTMLElement {
  if (contentType.startsWith('image/')) return element('img', { src: url, alt: label, loading: 'lazy' })
  if (contentType.startsWith('video/'))
    return player(element('video', { src: url, controls: true, playsinline: true, preload: 'metadata' }), label, shape)
  return player(element('audio', { src: url, controls: true, preload: 'metadata' }), label)
}
