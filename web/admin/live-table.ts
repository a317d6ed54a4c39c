// A list of the server as a table that keeps up to date: filters above it, pages below it.
import { button, element, icon } from '../element.ts'
import { failurePlace, type PageDeps } from './deps.ts'
import { keepLive, type Live } from './live.ts'
import { createTable, type TableOptions } from './table.ts'
import { formatNumber } from './words.ts'

const pageSize = 50

/** One page of a list. */
export interface ListPage<Row> {
  readonly rows: readonly Row[]
  readonly total: number
}

/** What the list reads. */
export interface LiveTableOptions<Row> extends TableOptions<Row> {
  /** One of them and many, as "job", "jobs". */
  readonly noun: readonly [one: string, many: string]
  read(page: { readonly limit: number; readonly offset: number }, signal: AbortSignal): Promise<ListPage<Row>>
}

/** A table with its pages. */
export interface LiveTable extends Live {
  readonly element: HTMLElement
  /** Shows the first page, for another filter. */
  restart(): void
}

/** Creates the table, and reads it. */
export function createLiveTable<Row>({ signal }: Pick<PageDeps, 'signal'>, options: LiveTableOptions<Row>): LiveTable {
  const table = createTable(options)
  const count = element('p', { class: 'fine', role: 'status' })
  const newer = button('Newer', () => turn(-pageSize), { icon: 'back', look: 'quiet small' })
  const older = element(
    'button',
    { type: 'button', class: 'button quiet small', onclick: () => turn(pageSize) },
    element('span', {}, 'Older'),
    icon('next'),
  )
  const pager = element('div', { class: 'pager', hidden: true }, newer, older)
  const failure = failurePlace(() => void live.refresh())
  let offset = 0

  function turn(by: number): void {
    offset = Math.max(0, offset + by)
    void live.refresh().then(() => table.element.scrollIntoView({ block: 'nearest' }))
  }
  async function read(signal: AbortSignal): Promise<void> {
    const asked = offset
    const { rows, total } = await options.read({ limit: pageSize, offset }, signal)
    // Another page was asked for meanwhile.
    if (signal.aborted || asked !== offset) return
    if (rows.length === 0 && total > 0 && offset > 0) {
      offset = Math.floor((total - 1) / pageSize) * pageSize
      return read(signal)
    }
    table.show(rows)
    const last = offset + rows.length
    const [one, many] = options.noun
    const nouns = total === 1 ? one : many
    count.textContent =
      total === 0
        ? ''
        : total <= pageSize
          ? `${formatNumber(total)} ${nouns}`
          : `${formatNumber(offset + 1)}–${formatNumber(last)} of ${formatNumber(total)} ${nouns}`
    pager.hidden = total <= pageSize
    newer.disabled = offset === 0
    older.disabled = last >= total
  }
  const live = keepLive(read, failure.showFor(table.element), signal)
  return {
    element: element(
      'div',
      { class: 'live-table' },
      failure.element,
      table.element,
      element('div', { class: 'table-foot' }, count, pager),
    ),
    refresh: live.refresh,
    restart() {
      offset = 0
      void live.refresh()
    },
  }
}
