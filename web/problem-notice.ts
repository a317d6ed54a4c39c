// A readable notice of a failure, with its code and a link to the page that explains it.
import { Refusal, Unreachable } from './api.ts'
import { button, element, icon } from './element.ts'
import { formatCredits } from './job-words.ts'

/** The text about a failure. */
export function explain(error: unknown): { readonly title: string; readonly detail: string } {
  if (error instanceof Unreachable) return { title: 'No connection', detail: error.message }
  if (!(error instanceof Refusal))
    return { title: 'Something went wrong', detail: error instanceof Error ? error.message : String(error) }
  const { title, detail, code, required, available } = error.problem
  if (code === 'insufficient_credits' && required !== undefined && available !== undefined) {
    return {
      title: 'Not enough credits',
      detail: `This needs ${formatCredits(required)}, and ${available.toLocaleString('en-US')} ${available === 1 ? 'is' : 'are'} available. Running generations may return some when they end.`,
    }
  }
  if (code === 'model_unavailable') {
    return {
      title: 'Not ready at the moment',
      detail: `${detail} Whoever runs this server can change that; try again later.`,
    }
  }
  if (code === 'rate_limited' && error.retryAfterSeconds !== null) {
    return { title, detail: `${detail} Try again in ${error.retryAfterSeconds} s.` }
  }
  return { title, detail }
}

/** A notice for the page; `retry` adds a button. */
export function problemNotice(
  error: unknown,
  retry?: { readonly label: string; readonly run: () => void },
): HTMLElement {
  const { title, detail } = explain(error)
  const problem = error instanceof Refusal ? error.problem : null
  const body = element('div', {}, element('strong', {}, title), element('p', {}, detail))
  if (problem) {
    const code = element('code', {}, problem.code)
    // Only http(s) URLs may become links.
    const explained = /^https?:\/\//.test(problem.type)
      ? element('a', { href: problem.type, target: '_blank', rel: 'noreferrer' }, code, ' explained')
      : code
    body.append(
      element(
        'p',
        { class: 'fine' },
        explained,
        problem.request_id ? element('span', { class: 'request-id' }, problem.request_id) : null,
      ),
    )
  }
  // A retry does not help if something is forbidden or does not exist.
  if (retry && problem?.status !== 403 && problem?.status !== 404)
    body.append(button(retry.label, retry.run, { icon: 'again', look: 'quiet' }))
  return element('div', { class: 'notice', role: 'alert' }, icon('warning'), body)
}
