// What the server refuses, as people at the console read it: no routes, no ids, and what to do next.
import { Refused, Unreachable } from '@mediagen/client/errors.ts'
import { formatCredits } from './job-words.ts'
import type { ProblemRecord } from './records.ts'

export interface Explanation {
  readonly title: string
  readonly detail: string
}

type Explain = (problem: ProblemRecord, waitSeconds: number | null) => Explanation

const say =
  (title: string, detail: string): Explain =>
  () => ({ title, detail })
const unknownKey = say(
  'The key does not work',
  'This key is unknown, has expired or was revoked. Ask whoever runs this server for a new one.',
)
const stalePrice = say('The price is out of date', 'Try again for a new one. Nothing was charged.')

const limitWords: Readonly<Record<string, string>> = {
  per_start: 'for one start',
  daily: 'today',
  weekly: 'this week',
  monthly: 'this month',
  total: 'in all',
}

// Codes that are not here have a detail of their own that says enough.
const words: Readonly<Record<string, Explain>> = {
  authentication_required: unknownKey,
  invalid_api_key: unknownKey,
  missing_permission: ({ permission = 'that this needs' }) => ({
    title: 'Your key may not do this',
    detail: `It lacks the permission “${permission}”. Use another key, or ask whoever runs this server.`,
  }),
  insufficient_credits: ({ required = 0, available = 0 }) => ({
    title: 'Not enough credits',
    detail: `This needs ${formatCredits(required)}, and ${available.toLocaleString('en-US')} ${available === 1 ? 'is' : 'are'} available. Running generations may return some when they end, and whoever runs this server can give you more.`,
  }),
  budget_exceeded: ({ required = 0, budget }) => ({
    title: 'Your budget is used up',
    detail: `This needs ${formatCredits(required)}, and ${formatCredits(budget?.left ?? 0)} of ${(budget?.credits ?? 0).toLocaleString('en-US')} ${budget?.left === 1 ? 'is' : 'are'} left ${limitWords[budget?.limit ?? 'total']}.${budget?.renews_at ? ` More on ${new Date(budget.renews_at).toLocaleString('en-US', { dateStyle: 'medium', timeStyle: 'short' })}.` : ''} Whoever gave you the key can raise it.`,
  }),
  model_not_allowed: say(
    'Your key may not use this model',
    'It is limited to some models. Ask whoever gave you the key. Nothing was charged.',
  ),
  model_not_found: say(
    'There is no such model',
    'It may have been removed, or the link is wrong. The Models page lists all of them.',
  ),
  model_unavailable: ({ detail }) => ({
    title: 'Not ready at the moment',
    detail: `${detail} Whoever runs this server can change that; try again later.`,
  }),
  model_ended: ({ detail }) => ({ title: 'This model has ended', detail }),
  job_not_found: say('There is no such generation', 'The link is wrong, or it belongs to another account.'),
  job_not_ended: say(
    'Not finished yet',
    'A generation can be deleted when it has ended. Cancel it first, or wait until its review is over.',
  ),
  file_not_found: say('The file is gone', 'This upload no longer exists: it was deleted or has expired.'),
  quote_not_found: stalePrice,
  quote_expired: stalePrice,
  quote_mismatch: stalePrice,
  too_many_jobs: say(
    'Too many at once',
    'As many of your generations are waiting as this server allows. Start this one when some of them are done.',
  ),
  too_many_uploads: say(
    'No space left for uploads',
    'Your uploads have used up their space. Delete some, or wait until some expire.',
  ),
  rate_limited: (_problem, waitSeconds) => ({
    title: 'Too many requests',
    detail: `Too many requests were sent in a short time. Try again ${waitSeconds === null ? 'in a moment' : `in ${waitSeconds} s`}.`,
  }),
  internal: say(
    'Something went wrong on the server',
    'This is a bug, and the server has logged it. You can safely try again: you will not be charged twice.',
  ),
  shutting_down: say('The server is restarting', 'Nothing was charged. Try again in a moment.'),
  overloaded: say('The server is busy', 'Nothing was charged. Try again in a moment.'),
  storage_unavailable: say(
    'The server cannot store anything right now',
    'Try again later: you will not be charged twice.',
  ),
}

/** The words about a failure. */
export function explain(error: unknown): Explanation {
  if (error instanceof Unreachable)
    return { title: 'No connection', detail: 'The server cannot be reached. Check the connection and try again.' }
  if (!(error instanceof Refused))
    return { title: 'Something went wrong', detail: error instanceof Error ? error.message : String(error) }
  const { problem, retryAfterSeconds } = error
  const { title, detail } = problem
  return words[problem.code]?.(problem, retryAfterSeconds) ?? { title, detail }
}
