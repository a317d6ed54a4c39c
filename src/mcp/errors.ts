// What went wrong, as the result of a tool: our code, the sentence that teaches, and each wrong field. Never a stack.
import { Refused, TooExpensive, Unreachable } from '@mediagen/client/client.ts'
import type * as z from 'zod'
import { MediagenError } from '../core/errors.ts'
import { suggest } from '../core/text/similar-names.ts'
import type { Facts } from './records.ts'

// Refusals quote what was sent, which would fill an agent's memory.
const longestText = 500
const mostErrors = 20

// What agents write, and the argument that they mean; others are found by their letters.
const usualNames: ReadonlyMap<string, string> = new Map([
  ['q', 'search'],
  ['query', 'search'],
  ['text', 'search'],
  ['type', 'category'],
  ['task', 'category'],
  ['max_cost', 'max_credits'],
  ['budget', 'max_credits'],
  ['params', 'input'],
  ['arguments', 'input'],
  ['id', 'job_id'],
  ['task_id', 'job_id'],
  ['timeout', 'seconds'],
  ['file', 'path'],
  ['data', 'content_base64'],
])

/** A text that an agent can afford to read; a longer one is cut. */
export function abridgeText(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText)}… (${text.length} characters)`
}

/** Turns what a client or a tool throws into facts; null for what is a defect of this program. */
export function toErrorFacts(error: unknown): Facts | null {
  if (error instanceof TooExpensive)
    return { code: error.code, message: error.message, retryable: false, credits: error.quote.credits }
  if (error instanceof Unreachable) return { code: error.code, message: error.message, retryable: true }
  if (error instanceof MediagenError) {
    const { code, message, details } = error
    return { code, message: abridgeText(message), retryable: false, errors: abridgeErrors(details.violations ?? []) }
  }
  if (!(error instanceof Refused)) return null
  const { code, detail, retryable, required, available, top_up_url, budget, permission, replaced_by } = error.problem
  const message = abridgeText(detail)
  const errors = error.problem.errors && abridgeErrors(error.problem.errors)
  const retry_after_seconds = error.retryAfterSeconds ?? undefined
  const money = { required, available, top_up_url, budget }
  return { code, message, retryable, errors, ...money, permission, replaced_by, retry_after_seconds }
}

/** Arguments that a tool does not take. @param known the names of those that it takes */
export function toViolationFacts(issues: readonly z.core.$ZodIssue[], known: readonly string[]): Facts {
  const errors = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.slice(0, mostErrors).map((name) => ({ pointer: `/${name}`, detail: describeUnknown(name, known) }))
      : [{ pointer: issue.path.map((at) => `/${String(at)}`).join(''), detail: issue.message }],
  )
  const message = 'The arguments of the call are wrong.'
  return { code: 'invalid_request', message, retryable: false, errors: abridgeErrors(errors) }
}

/** Says which argument was probably meant. */
function describeUnknown(name: string, known: readonly string[]): string {
  const usual = usualNames.get(name.toLowerCase())
  const meant = usual !== undefined && known.includes(usual) ? `did you mean "${usual}"?` : suggest(name, known)
  // What a tool does not take itself is probably for the model.
  const within = known.includes('input') ? `did you mean ${JSON.stringify(`input.${name}`)}?` : ''
  const all = known.length === 0 ? 'The tool takes no arguments.' : `The arguments are ${known.join(', ')}.`
  const unknown = `There is no argument ${JSON.stringify(name)}`
  return meant || within ? `${unknown}: ${meant || within}` : `${unknown}. ${all}`
}

function abridgeErrors(errors: readonly { readonly pointer: string; readonly detail: string }[]) {
  return errors
    .slice(0, mostErrors)
    .map(({ pointer, detail }) => ({ pointer: abridgeText(pointer), detail: abridgeText(detail) }))
}

/** A defect of this program. */
export const unexpected: Facts = {
  code: 'internal',
  message: 'This failed unexpectedly. Repeat it with the same arguments.',
  retryable: true,
}
