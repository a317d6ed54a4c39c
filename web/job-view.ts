// A job in full: its progress, its result or error, and its credits.
import { describeProvenance } from '@mediagen/client/provenance-words.ts'
import { isOlder } from '@mediagen/client/records.ts'
import type { Catalog } from './catalog.ts'
import { copyButton } from './copy-button.ts'
import { askToDelete, deleteJob, mayDelete } from './delete-jobs.ts'
import { createDraftPicture } from './draft-picture.ts'
import { element, icon, linkButton, button } from './element.ts'
import { toForm } from './form-model.ts'
import {
  describeKept,
  describeLabels,
  describeMoney,
  describeOutput,
  describeStatus,
  explainEnd,
  formatAge,
  formatCredits,
  formatSeconds,
  isTerminal,
  toFileName,
  toLocalUrl,
  tookSeconds,
} from './job-words.ts'
import { openMakeAgain, saveBundle } from './make-again.ts'
import { menu, type MenuChoice } from './menu.ts'
import { moment } from './moment.ts'
import { navigate } from './navigate.ts'
import { outputMedia } from './output-media.ts'
import { findShape, type Shape, toFullWidth } from './output-shape.ts'
import { problemNotice } from './problem-notice.ts'
import type { JobRecord, ModelRecord, OutputRecord } from './records.ts'
import { toHash } from './route.ts'
import { describeInput, handMedia, rememberMedia } from './session.ts'
import type { ViewDeps } from './view-deps.ts'

// Models that take what was made as their input, in the menu under it.
const mostEditors = 8

export interface JobView {
  readonly element: HTMLElement
  show(job: JobRecord): void
}

/** Shows nothing until the first record arrives. `onDeleted` hears of a job that is deleted here. */
export function createJobView(deps: ViewDeps, onDeleted: (jobId: string) => void = () => {}): JobView {
  const status = element('p', { class: 'job-status', role: 'status' })
  const body = element('div', { class: 'job-body' })
  const trouble = element('div', {})
  const whole = element('section', { class: 'job', 'aria-label': 'Generation' }, body, status, trouble)
  const progress = element('progress', { max: 1, 'aria-label': 'Progress' })
  const frame = element('div', { class: 'waiting' })
  // A draft has the shape of the output, which its input may not tell.
  const draft = createDraftPicture(({ naturalWidth, naturalHeight }) => {
    if (frame.style.aspectRatio === '') setShape(frame, { width: naturalWidth * 100, height: naturalHeight * 100 })
  })
  frame.append(draft.element, progress)
  let shown = ''
  let latest: JobRecord | null = null

  async function cancel(job: JobRecord, clicked: HTMLButtonElement): Promise<void> {
    clicked.disabled = true
    trouble.replaceChildren()
    try {
      view.show(await deps.api.post<JobRecord>(`/v1/jobs/${encodeURIComponent(job.job_id)}/cancel`))
      deps.balance.refresh()
    } catch (error) {
      clicked.disabled = false
      trouble.replaceChildren(problemNotice(error))
    }
  }
  async function remove(job: JobRecord, clicked: HTMLButtonElement): Promise<void> {
    if (!(await askToDelete(1))) return
    clicked.disabled = true
    trouble.replaceChildren()
    try {
      await deleteJob(deps.api, job.job_id)
      view.show({ ...job, outputs: [], input: null, deleted_at: new Date().toISOString() })
      onDeleted(job.job_id)
    } catch (error) {
      clicked.disabled = false
      trouble.replaceChildren(problemNotice(error))
    }
  }
  async function save(job: JobRecord, clicked: HTMLButtonElement): Promise<void> {
    clicked.disabled = true
    trouble.replaceChildren()
    await saveBundle(deps, job.job_id).catch((error: unknown) => trouble.replaceChildren(problemNotice(error)))
    clicked.disabled = false
  }
  function active(job: JobRecord): HTMLElement[] {
    const stop = button('Cancel', () => void cancel(job, stop), { icon: 'stop', look: 'quiet' })
    void shapeFrame(job)
    return [frame, element('div', { class: 'actions' }, stop)]
  }
  /** Gives the frame the shape that the output will have, as far as is known. */
  async function shapeFrame({ job_id, model, input }: JobRecord): Promise<void> {
    setShape(frame, null)
    const detail = await deps.catalog.detail(model).catch(() => null)
    if (latest?.job_id !== job_id || !detail) return
    frame.classList.toggle('for-sound', detail.modality === 'audio')
    if (input) setShape(frame, findShape(toForm(detail)?.fields ?? [], input))
  }
  function ended(job: JobRecord): HTMLElement[] {
    if (job.deleted_at !== null) return [deleted(job.deleted_at)]
    const clicked = button('Delete', () => void remove(job, clicked), { icon: 'bin', look: 'bare' })
    clicked.hidden = !mayDelete(job)
    const row = actions(job, deps, clicked)
    const bundle = button('Bundle', () => void save(job, bundle), { icon: 'download', look: 'quiet' })
    clicked.before(bundle)
    const reason = explainEnd(job)
    if (reason !== null) return [failure(job, reason), row]
    return [...job.outputs.map((output, index) => result(job, output, index)), row]
  }
  const view: JobView = {
    element: whole,
    show(job) {
      // The answer to a cancel may arrive after the event of the end, and no event follows that.
      if (latest?.job_id === job.job_id && isOlder(job, latest)) return
      latest = job
      progress.value = job.progress
      draft.show(job)
      status.replaceChildren(
        element('span', { class: 'dot', 'data-status': job.status }),
        describeStatus(job),
        element('span', { class: 'money' }, describeMoney(job)),
      )
      // Media elements are kept while only the progress changes.
      const state = `${job.job_id} ${isTerminal(job.status)} ${job.status} ${job.deleted_at}`
      if (state === shown) return
      shown = state
      whole.dataset['status'] = job.status
      trouble.replaceChildren()
      body.replaceChildren(...(isTerminal(job.status) ? ended(job) : active(job)), facts(job, deps.catalog))
    },
  }
  return view
}

function setShape(frame: HTMLElement, shape: Shape | null): void {
  frame.style.width = shape ? toFullWidth(shape) : ''
  frame.style.aspectRatio = shape ? `${shape.width} / ${shape.height}` : ''
}

function result(job: JobRecord, output: OutputRecord, index: number): HTMLElement {
  const facts = [describeOutput(output), describeKept(output)].filter(Boolean).join(' · ')
  const origin = describeProvenance(output.provenance).join(' ')
  const caption = element('figcaption', { class: 'fine' }, facts)
  if (origin !== '') caption.append(element('span', { class: 'origin' }, origin))
  const words = describeJob(job)
  const figure = element('figure', { class: 'result' }, outputMedia(output, words), caption)
  const failed = (): void => {
    caption.textContent = 'The file cannot be loaded. Its URL may have expired; reload the page for a new one.'
  }
  // Errors of media do not bubble; a sound is within its frame.
  figure.addEventListener('error', failed, { capture: true })
  if (output.url === null) return figure
  figure.append(
    linkButton('Download', toLocalUrl(output.url, location.origin), {
      icon: 'download',
      look: index === 0 ? 'primary' : 'quiet',
      download: toFileName(job, output, index),
    }),
  )
  return figure
}

function deleted(at: string): HTMLElement {
  return element(
    'div',
    { class: 'notice mild' },
    icon('bin'),
    element(
      'div',
      {},
      element('strong', {}, 'Deleted'),
      element(
        'p',
        {},
        `Its files and settings were deleted ${formatAge(at, Date.now())}. What was paid stays on record.`,
      ),
    ),
  )
}

function describeJob(job: JobRecord): string {
  return describeInput(job) ?? 'What was made'
}

function failure(job: JobRecord, reason: string): HTMLElement {
  const words = element('div', {}, element('strong', {}, describeStatus(job)), element('p', {}, reason))
  if (job.error)
    words.append(
      job.status === 'failed'
        ? element(
            'p',
            { class: 'fine' },
            job.error.retryable ? 'Trying again may help.' : 'The same input would most likely fail again.',
          )
        : '',
      handOn(job, job.error.code),
    )
  return element(
    'div',
    { class: `notice ${job.status === 'failed' ? '' : 'mild'}` },
    icon(job.status === 'canceled' ? 'stop' : 'warning'),
    words,
  )
}

/** What whoever runs the server needs to find out more. */
function handOn(job: JobRecord, code: string): HTMLElement {
  const facts = `${job.job_id}, ${code}, ${job.model}, ${job.finished_at ?? job.created_at}`
  return element(
    'p',
    { class: 'hand-on' },
    'If you ask for help, hand on:',
    element('code', {}, job.job_id),
    element('code', {}, code),
    copyButton('Copy', () => facts, { look: 'quiet small' }),
  )
}

/** `last` stays behind what is known later. */
function actions(job: JobRecord, deps: ViewDeps, last: HTMLElement): HTMLElement {
  const row = element('div', { class: 'actions' }, last)
  if (job.input)
    last.before(
      button('Make again', () => openMakeAgain(deps, job.job_id), { icon: 'play', look: 'quiet' }),
      // A link, so that it can be handed on, too.
      linkButton('Use these settings', toHash({ view: 'remix', id: job.job_id }), { icon: 'again', look: 'quiet' }),
    )
  const [output] = job.outputs
  if (output && output.url !== null)
    void deps.catalog.editorsFor(job.model).then(
      (editors) => {
        const choices = editors.slice(0, mostEditors).map((editor) => useAsInput(output, editor, describeJob(job)))
        const [only, ...others] = choices
        if (only) last.before(others.length > 0 ? menu('Use in another model', choices) : useAlone(only))
      },
      () => {},
    )
  return row
}

function useAlone({ label, run }: MenuChoice): HTMLElement {
  return button(`Use in ${label}`, run, { icon: 'edit', look: 'quiet' })
}

function useAsInput(output: OutputRecord, editor: ModelRecord, words: string): MenuChoice {
  return {
    label: editor.name,
    run() {
      if (output.url === null) return
      // The server reads its own outputs from its disk, so nothing is transferred.
      handMedia(editor.id, output.url)
      rememberMedia(output.url, {
        name: words,
        type: output.content_type,
        bytes: output.bytes,
        picture: output.preview_url ?? output.url,
      })
      navigate({ view: 'model', id: editor.id })
    },
  }
}

function facts(job: JobRecord, catalog: Catalog): HTMLElement {
  const took = tookSeconds(job)
  const page = toHash({ view: 'job', id: job.job_id })
  const model = element('a', { href: toHash({ view: 'model', id: job.model }) }, 'This model')
  void catalog.models().then(
    (models) => model.replaceChildren(models.get(job.model)?.name ?? job.model),
    () => {},
  )
  const rows: readonly (readonly [string, Node | string])[] = [
    ['Model', model],
    ['Started', moment(job.created_at)],
    ...(took === null ? [] : [['Took', formatSeconds(took)] as const]),
    ...(job.served_by === null ? [] : [['Made by', job.served_by] as const]),
    ...(job.attempts > 1 ? [['Attempts', String(job.attempts)] as const] : []),
    ['Quoted', formatCredits(job.billing.quoted)],
    ...(location.hash === page ? [] : [['Link', element('a', { href: page }, 'Open its own page')] as const]),
    ...(Object.keys(job.labels).length === 0 ? [] : [['Labels', labels(job)] as const]),
    ...(job.key_name === null ? [] : [['Key', job.key_name] as const]),
    ['Id', id(job)],
  ]
  return element(
    'dl',
    { class: 'facts' },
    ...rows.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))),
  )
}

function labels(job: JobRecord): HTMLElement {
  const chips = describeLabels(job).map((words) => element('li', { class: 'label-chip' }, words))
  return element('ul', { class: 'labels' }, ...chips)
}

function id({ job_id }: JobRecord): HTMLElement {
  return element(
    'span',
    { class: 'id-row' },
    element('code', {}, job_id),
    copyButton('Copy', () => job_id, { look: 'text' }),
  )
}
