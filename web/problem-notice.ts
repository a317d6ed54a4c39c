// A readable notice of a failure; its code and a link to the page that explains it are folded away.
import { Refused } from '@mediagen/client/errors.ts'
import { button, element, icon } from './element.ts'
import { explain } from './refusal-words.ts'

/** A notice for the page; `retry` adds a button, `say` has other words. */
export function problemNotice(
  error: unknown,
  retry?: { readonly label: string; readonly run: () => void },
  say = explain,
): HTMLElement {
  const { title, detail } = say(error)
  const problem = error instanceof Refused ? error.problem : null
  const body = element('div', {}, element('strong', {}, title), element('p', {}, detail))
  if (problem) {
    const code = element('code', {}, problem.code)
    // Only http(s) URLs may become links.
    const explained = /^https?:\/\//.test(problem.type)
      ? element('a', { href: problem.type, target: '_blank', rel: 'noreferrer' }, code, ' explained')
      : code
    body.append(technicalDetails(explained, problem.request_id))
  }
  // A retry does not help if something is forbidden or does not exist.
  if (retry && problem?.status !== 403 && problem?.status !== 404)
    body.append(button(retry.label, retry.run, { icon: 'again', look: 'quiet' }))
  return element('div', { class: 'notice', role: 'alert' }, icon('warning'), body)
}

/** What support asks for, folded. */
export function technicalDetails(...facts: readonly (Node | string)[]): HTMLElement {
  return element(
    'details',
    { class: 'technical fine' },
    element('summary', {}, 'Details'),
    element('p', {}, ...facts.filter((fact) => fact !== '').map((fact) => element('span', {}, fact))),
  )
}
