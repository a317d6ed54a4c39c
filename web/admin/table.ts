// Tables that are shown again and again: a row that has not changed is left alone, so that nobody loses the focus. On a phone each
// row is a card.
import { element } from '../element.ts'

/** A column. */
export interface Column<Row> {
  readonly title: string
  /** `number` is at the right; `wide` takes the room that is left, `name` a little; `acts` are buttons, its title is only read out. */
  readonly kind?: 'number' | 'wide' | 'name' | 'acts'
  cell(row: Row): Node | string | null | readonly (Node | string | null)[]
}

/** What a table shows. */
export interface TableOptions<Row> {
  /** What the rows are, for screen readers. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  keyOf(row: Row): string
  /** Shown when there is nothing, with the next step. */
  empty(): Node
}

/** A table. */
export interface Table<Row> {
  readonly element: HTMLElement
  show(rows: readonly Row[]): void
}

interface Shown {
  readonly state: string
  readonly minute: number
  readonly element: HTMLTableRowElement
}

/** Creates a table, which is busy until it is shown. */
export function createTable<Row>({ label, columns, keyOf, empty }: TableOptions<Row>): Table<Row> {
  const body = element('tbody', {})
  const head = columns.map(({ title, kind }) =>
    element(
      'th',
      { scope: 'col', class: kind ?? '' },
      kind === 'acts' ? element('span', { class: 'visually-hidden' }, title) : title,
    ),
  )
  const table = element('table', {}, element('thead', {}, element('tr', {}, ...head)), body)
  const scroller = element('div', { class: 'wide-table', role: 'region', 'aria-label': label, tabindex: 0 }, table)
  const place = element('div', { class: 'admin-table', 'aria-busy': 'true' })
  let shown = new Map<string, Shown>()

  function toRow(row: Row): HTMLTableRowElement {
    const cells = columns.map(({ title, kind, cell }, index) => {
      const content = [cell(row)].flat()
      return element(
        index === 0 ? 'th' : 'td',
        { class: kind ?? '', 'data-label': title, ...(index === 0 && { scope: 'row' }) },
        ...content,
      )
    })
    return element('tr', {}, ...cells)
  }
  /** What is times ago moves on by the minute. */
  function renew(row: Row, before: Shown | undefined, minute: number): Shown {
    const state = JSON.stringify(row, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
    const isSame = before?.state === state
    if (before && isSame && (before.minute === minute || before.element.contains(document.activeElement))) return before
    return { state, minute, element: toRow(row) }
  }
  return {
    element: place,
    show(rows) {
      place.removeAttribute('aria-busy')
      const minute = Math.floor(Date.now() / 60_000)
      const focus = findFocus(body)
      shown = new Map(rows.map((row) => [keyOf(row), renew(row, shown.get(keyOf(row)), minute)]))
      if (rows.length === 0) place.replaceChildren(empty())
      else {
        const wanted = [...shown.values()].map((one) => one.element)
        if (wanted.length !== body.rows.length || wanted.some((one, index) => body.rows[index] !== one))
          arrange(body, wanted)
        if (!place.contains(scroller)) place.replaceChildren(scroller)
      }
      focus?.(body)
    },
  }
}

/** Puts rows in their order, moving only those that are elsewhere: a row that is moved loses the focus. */
function arrange(body: HTMLTableSectionElement, wanted: readonly HTMLTableRowElement[]): void {
  const kept = new Set(wanted)
  for (const row of Array.from(body.rows)) if (!kept.has(row)) row.remove()
  wanted.forEach((row, index) => {
    if (body.rows[index] !== row) body.insertBefore(row, body.rows[index] ?? null)
  })
}

const focusable = 'a, button, input, select, summary'

/** Remembers which control has the focus; the result gives it to the one at its position, if it is gone. */
function findFocus(body: HTMLElement): ((body: HTMLTableSectionElement) => void) | null {
  const active = document.activeElement
  const row = active?.closest('tr')
  if (!active || !row || !body.contains(row)) return null
  const at = [...(row.parentElement?.children ?? [])].indexOf(row)
  const within = [...row.querySelectorAll(focusable)].indexOf(active)
  return (now) => {
    if (active.isConnected) return
    const controls = now.rows[Math.min(at, now.rows.length - 1)]?.querySelectorAll<HTMLElement>(focusable)
    ;(controls?.[within] ?? controls?.[0])?.focus()
  }
}

/** What is said where there is nothing. */
export function emptyNote(words: string, ...next: readonly (Node | string)[]): HTMLElement {
  return element('div', { class: 'empty-note' }, element('p', {}, words), ...next.map((one) => element('p', {}, one)))
}
