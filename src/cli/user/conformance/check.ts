// What a check is, and how it ends.
import type { Input, Job, Quote } from '@mediagen/client/client.ts'
import type { Ledger } from './ledger.ts'
import type { Answer, Probe } from './probe.ts'

/** Thrown where a check cannot be made. */
export class Skipped extends Error {}

/** Thrown where an invariant does not hold. */
export class Violated extends Error {}

/** @throws Violated */
export function expect(holds: boolean, expected: string, seen: string): asserts holds {
  if (!holds) throw new Violated(`expected ${expected}, but saw ${seen}`)
}

/** The server under test, and what was done there. */
export interface Context {
  readonly probe: Probe
  readonly ledger: Ledger
  readonly account: string | null
  /** A key of another account. */
  readonly otherKey: string | undefined
  /** What is started, and its price. */
  readonly model: string
  readonly input: Input
  readonly price: number
  /** The quote that was made first. */
  readonly firstQuote: Quote
  /** The job that most checks are about, with its idempotency key. */
  main: { readonly key: string; readonly quote: Quote; readonly job: Job } | null
  /** @throws Violated if it is refused */
  quote(input?: Input): Promise<Quote>
  /** Starts, and remembers the job. */
  start(start: Start): Promise<Answer<Job>>
  /** @throws Skipped unless so many credits are available, and left of the most that may be spent */
  need(credits: number): Promise<void>
  /** How many credits may still be spent. */
  left(): number
  /** Waits for the end of every job that was started. */
  settle(): Promise<readonly Job[]>
}

/** A start as it is sent. */
export interface Start {
  readonly quoteId: string
  readonly idempotencyKey: string | null
  readonly input?: Input
  readonly wait?: boolean
  /** API key, unless it is the usual one. */
  readonly key?: string
}

/** An invariant. */
export interface Check {
  readonly name: string
  /** Resolves to what is worth saying of success. @throws Skipped, Violated */
  run(context: Context): Promise<string | void>
}

/** A start that must be refused, and change nothing. */
export async function expectRefused(context: Context, start: Start, status?: number): Promise<void> {
  await context.need(context.price)
  const before = await context.ledger.look()
  const answer = await context.start(start)
  const refused = answer.status >= 400 && answer.status < 500
  const seen = `HTTP ${answer.status}${answer.body.job_id ? `, ${answer.body.job_id} started` : ` ${answer.body.code}`}`
  expect(status === undefined ? refused : answer.status === status, `HTTP ${status ?? '4xx'}`, seen)
  await expectUnchanged(context, before)
}

/** No entry was written since `before`. */
export async function expectUnchanged({ ledger }: Context, before: string | null): Promise<void> {
  await ledger.look()
  const entries = ledger.since(before)
  const seen = entries.map(({ kind, credits, job_id: job }) => `${kind} of ${credits} (${job ?? 'no job'})`)
  expect(entries.length === 0, 'no ledger entry', seen.join(', '))
}
