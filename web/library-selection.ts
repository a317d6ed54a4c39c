// Selects many jobs of the library, downloads their files as one archive, or deletes them.
import type { Api } from './api.ts'
import { askToDelete, deleteJob, mayDelete } from './delete-jobs.ts'
import { button, element } from './element.ts'
import { toFileName, toLocalUrl } from './job-words.ts'
import { problemNotice } from './problem-notice.ts'
import type { JobRecord } from './records.ts'
import { offerFile } from './save-file.ts'
import { createZip, type ZipEntry } from './zip.ts'

export interface LibrarySelection {
  readonly element: HTMLElement
  /** A tile is now on the page. */
  adopt(tile: HTMLElement): void
  clear(): void
}

/** What the selection works on. */
export interface SelectionDeps {
  readonly api: Pick<Api, 'remove'>
  readonly signal: AbortSignal
  readonly grid: HTMLElement
  /** The latest record of a tile. */
  find(tile: Element): JobRecord | undefined
  /** Takes jobs that were deleted off the page. */
  drop(jobIds: readonly string[]): void
}

/** Creates the selection. */
export function createLibrarySelection({ api, signal, grid, find, drop }: SelectionDeps): LibrarySelection {
  let selecting = false
  const count = element('span', { class: 'fine', role: 'status' })
  const toggle = button('Select', () => select(!selecting), { look: 'quiet small' })
  const all = button('Select all', () => mark([...grid.querySelectorAll('.tile')], true), { look: 'quiet small' })
  const download = button('Download', () => void save(), { icon: 'download', look: 'quiet small' })
  const remove = button('Delete', () => void removeChosen(), { icon: 'bin', look: 'quiet small' })
  const trouble = element('div', {})
  const chosen = (): Element[] => [...grid.querySelectorAll('.tile[aria-checked=true]')]

  function select(on: boolean): void {
    selecting = on
    grid.classList.toggle('selecting', on)
    trouble.replaceChildren()
    for (const tile of grid.querySelectorAll('.tile')) adopt(tile)
    show()
  }
  function adopt(tile: Element): void {
    if (selecting) {
      tile.setAttribute('role', 'checkbox')
      tile.setAttribute('aria-checked', tile.getAttribute('aria-checked') ?? 'false')
    } else for (const name of ['role', 'aria-checked']) tile.removeAttribute(name)
  }
  function mark(tiles: readonly Element[], on: boolean): void {
    for (const tile of tiles) tile.setAttribute('aria-checked', String(on))
    show()
  }
  function show(): void {
    const files = chosen().flatMap((tile) => filesOf(find(tile)))
    count.textContent = selecting ? `${chosen().length} selected` : ''
    toggle.querySelector('span')?.replaceChildren(selecting ? 'Stop selecting' : 'Select')
    const doomed = chosen().filter((tile) => mayDeleteTile(tile)).length
    all.hidden = download.hidden = remove.hidden = !selecting
    remove.disabled = doomed === 0
    remove.querySelector('span')?.replaceChildren(doomed === 0 ? 'Delete' : `Delete ${doomed}`)
    download.disabled = files.length === 0
    const words = files.length === 0 ? 'Download' : `Download ${files.length} ${files.length === 1 ? 'file' : 'files'}`
    download.querySelector('span')?.replaceChildren(words)
  }
  function mayDeleteTile(tile: Element): boolean {
    const job = find(tile)
    return job !== undefined && mayDelete(job)
  }
  async function removeChosen(): Promise<void> {
    const jobs = chosen()
      .flatMap((tile) => find(tile) ?? [])
      .filter(mayDelete)
    if (!(await askToDelete(jobs.length))) return
    remove.disabled = true
    trouble.replaceChildren()
    const gone: string[] = []
    let failure: HTMLElement | null = null
    try {
      for (const { job_id } of jobs) {
        count.textContent = `Deleting ${gone.length + 1} of ${jobs.length}`
        await deleteJob(api, job_id, signal)
        gone.push(job_id)
      }
    } catch (error) {
      failure = problemNotice(error)
    }
    if (signal.aborted) return
    drop(gone)
    show()
    if (failure) trouble.replaceChildren(failure)
  }
  async function save(): Promise<void> {
    const files = chosen().flatMap((tile) => filesOf(find(tile)))
    download.disabled = true
    trouble.replaceChildren()
    try {
      const entries: ZipEntry[] = []
      // One after the other: the server bounds how many files one address fetches at once.
      for (const { url, name, modifiedMs } of files) {
        count.textContent = `Fetching ${entries.length + 1} of ${files.length}`
        const answer = await fetch(url, { signal })
        if (!answer.ok) throw new Error(`“${name}” cannot be fetched; it may have expired.`)
        entries.push({ name, modifiedMs, content: new Uint8Array(await answer.arrayBuffer()) })
      }
      offerFile(await createZip(entries), `mediagen-${new Date().toISOString().slice(0, 10)}.zip`)
    } catch (error) {
      if (!signal.aborted) trouble.replaceChildren(problemNotice(error))
    } finally {
      show()
    }
  }
  grid.addEventListener('click', (event) => {
    const tile = event.target instanceof Element ? event.target.closest('.tile') : null
    if (!selecting || !tile) return
    event.preventDefault()
    mark([tile], tile.getAttribute('aria-checked') !== 'true')
  })
  grid.addEventListener('keydown', (event) => {
    if (!selecting || event.key !== ' ' || !(event.target instanceof HTMLElement)) return
    event.preventDefault()
    event.target.click()
  })
  show()
  return {
    element: element('div', { class: 'selection' }, count, all, download, remove, toggle, trouble),
    adopt,
    clear: () => select(false),
  }
}

function filesOf(job: JobRecord | undefined): { url: string; name: string; modifiedMs: number }[] {
  return (job?.outputs ?? []).flatMap((output, index) =>
    job && output.url !== null
      ? [
          {
            url: toLocalUrl(output.url, location.origin),
            name: toFileName(job, output, index),
            modifiedMs: Date.parse(job.created_at),
          },
        ]
      : [],
  )
}
