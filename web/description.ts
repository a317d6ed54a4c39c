// The description of a model: what people read first, and the fine print, which is folded.
import { element } from './element.ts'

/** The first line of a description, for cards. */
export function toFirstLine(description: string): string {
  return description.split('\n', 1)[0] ?? ''
}

/** The first line, and the lines after it under “More”. */
export function modelDescription(description: string): HTMLElement {
  const [first = '', ...rest] = description.split(/\n+/)
  const fine = rest.filter(Boolean).map((line) => element('p', {}, line))
  return element(
    'div',
    { class: 'about' },
    element('p', {}, first),
    fine.length > 0 && element('details', {}, element('summary', { class: 'more' }, 'More'), ...fine),
  )
}
