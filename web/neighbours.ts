// The generations before and after one, as the library showed them last: links, and the arrow keys.
import { element, icon } from './element.ts'
import { navigate } from './navigate.ts'
import { toHash } from './route.ts'

let order: readonly string[] = []

/** Keeps what the library shows, in its order. */
export function keepOrder(jobIds: readonly string[]): void {
  order = jobIds
}

/** The ways to the neighbours of a job; nothing if the library has not shown it. */
export function neighbourLinks(jobId: string, signal: AbortSignal): HTMLElement | null {
  const at = order.indexOf(jobId)
  if (at < 0) return null
  const [before, after] = [order[at - 1], order[at + 1]]
  addEventListener(
    'keydown',
    (event) => {
      const id = { ArrowLeft: before, ArrowRight: after }[event.key]
      if (id === undefined || isTaken(event)) return
      event.preventDefault()
      navigate({ view: 'job', id })
    },
    { signal },
  )
  const link = (id: string | undefined, words: string, name: string): HTMLElement =>
    id === undefined
      ? element('span', {})
      : element(
          'a',
          { class: 'button bare square', href: toHash({ view: 'job', id }), 'aria-label': words, title: words },
          icon(name),
        )
  return element(
    'nav',
    { class: 'neighbours', 'aria-label': 'Library' },
    link(before, 'Previous in the library', 'back'),
    link(after, 'Next in the library', 'next'),
  )
}

/** Whether the key means something where the focus is. */
function isTaken({ target, altKey, ctrlKey, metaKey, shiftKey }: KeyboardEvent): boolean {
  const own = 'input, textarea, select, dialog, [role=radio], [role=slider], [role=tab]'
  return altKey || ctrlKey || metaKey || shiftKey || (target instanceof Element && target.closest(own) !== null)
}
