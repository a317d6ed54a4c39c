// What a check is given.
import type { Input, Job, Quote } from '@mediagen/client/client.ts'
import type { Ledger } from './ledger.ts'
import { type Answer, expect, type Probe } from './probe.ts'

/** A start as it is sent; the input is the usual one unless it is named. */
export interface Start {
  readonly quote: Pick<Quote, 'quote_id'>
  readonly idempotencyKey?: string
  readonly input?: Input
  readonly wait?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

/** The server under test, and what was done there. */
export interface Context {
  readonly probe: Probe
  readonly ledger: Ledger
  readonly account: string | undefined
  /** A key of another account. */
  readonly otherKey: string | undefined
  readonly model: string
  readonly input: Input
  readonly price: number
  readonly firstQuote: Quote
  /** The job that starts repeat. */
  main: { readonly quote: Quote; readonly idempotencyKey: string; readonly job: Job } | null
  quote(input?: Input): Promise<Quote>
  start(start: Start): Promise<Answer<Job>>
  /** How many credits may still be spent. */
  left(): number
  /** How many starts the account and the most that may be spent have credits for. @throws Skipped if they are fewer */
  affordable(least?: number): Promise<number>
  /** Waits for the end of every job that was started. */
  settle(): Promise<readonly Job[]>
}

/** Checks by what must hold; each resolves to what is worth saying of success. */
export type Checks = Readonly<Record<string, (context: Context) => Promise<string | void>>>

/** A start must be refused and change nothing. @param status null for any refusal */
export async function expectRefused(context: Context, status: number | null, start: Start): Promise<void> {
  await context.affordable()
  await expectUnchanged(context, async () => {
    const answer = await context.start(start)
    const holds = status === null ? answer.status >= 400 && answer.status < 500 : answer.status === status
    expect(holds, `a refusal, HTTP ${status ?? '4xx'}`, `${answer.words} ${answer.body?.job_id ?? ''}`)
  })
}

/** No entry is written while something is done. */
export async function expectUnchanged({ ledger }: Context, act: () => Promise<unknown>): Promise<void> {
  const before = await ledger.look()
  await act()
  await ledger.look()
  const entries = ledger.since(before)
  expect(entries.length === 0, 'no new ledger entry', entries)
}
