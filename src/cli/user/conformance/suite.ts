// Runs the checks one after the other, and keeps account of what they spend.
import { createClient, type Input, type Job, type Quote } from '@mediagen/client/client.ts'
import { isTerminal } from '@mediagen/client/records.ts'
import type { Login } from '../server.ts'
import { countCredits } from '../words.ts'
import { type Check, type Context, expect, Skipped, type Start, Violated } from './check.ts'
import { openLedger } from './ledger.ts'
import { describe, type Probe } from './probe.ts'
import { expiryCheck, quoteChecks } from './quotes.ts'
import { routeChecks } from './routes.ts'
import { overdraftCheck, startChecks } from './starts.ts'
import type { Subject } from './subject.ts'
import { totalChecks } from './totals.ts'

// A job that takes longer fails its check.
const jobMs = 900_000

const checks: readonly Check[] = [
  ...routeChecks,
  ...quoteChecks,
  ...startChecks,
  expiryCheck,
  overdraftCheck,
  ...totalChecks,
]

/** How one check ended. */
export interface Result {
  readonly invariant: string
  readonly result: 'ok' | 'FAILED' | 'skipped'
  /** What was seen, or why it was skipped. */
  readonly detail: string | null
}

/** What the whole suite did. */
export interface Outcome {
  readonly results: readonly Result[]
  readonly spent: number
  /** Entries that are of no job of the suite. */
  readonly foreign: number
}

/** What the suite is run with. */
export interface Options extends Subject {
  readonly login: Login
  readonly probe: Probe
  readonly account: string | null
  readonly otherKey: string | undefined
  readonly maxCredits: number
  readonly onResult: (result: Result) => void
}

/** Runs every check. */
export async function runSuite(options: Options): Promise<Outcome> {
  const { probe, login, onResult, maxCredits, model, input, quote: firstQuote } = options
  const ledger = openLedger(probe)
  const client = createClient(login)
  const jobs = new Map<string, Job>()
  const atFirst = await ledger.look()

  const spent = (): number =>
    ledger.since(atFirst).reduce((credits, { job_id: job, kind, credits: moved }) => {
      const sign = kind === 'hold' ? 1 : kind === 'release' ? -1 : 0
      return jobs.has(job ?? '') ? credits + sign * moved : credits
    }, 0)
  const left = (): number => maxCredits - spent()

  const context: Context = {
    ...options,
    ledger,
    price: firstQuote.credits,
    firstQuote,
    main: null,
    left,
    async quote(of: Input = input) {
      const answer = await probe.send<Quote>('/v1/quotes', { body: { model, input: of } })
      expect(answer.status === 200, 'a quote', describe(answer))
      return answer.body as Quote
    },
    async start({ quoteId, idempotencyKey, input: of = input, wait, key }: Start) {
      const answer = await probe.send<Job>(`/v1/generate${wait ? '?wait=true' : ''}`, {
        body: { model, input: of, quote_id: quoteId },
        headers: idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey },
        ...(key !== undefined && { key }),
      })
      if (answer.status < 300 && answer.body.job_id) jobs.set(answer.body.job_id, answer.body as Job)
      return answer
    },
    async need(credits) {
      await ledger.look()
      const { available } = ledger.wallet()
      if (credits > left())
        throw new Skipped(`it may spend ${countCredits(credits)}, and --max-credits leaves ${left()}`)
      if (credits > available) throw new Skipped(`it needs ${countCredits(credits)}, and ${available} are available`)
    },
    async settle() {
      for (const [id, job] of jobs)
        if (!isTerminal(job)) jobs.set(id, await client.follow(id, { signal: AbortSignal.timeout(jobMs) }))
      return [...jobs.values()]
    },
  }

  const results: Result[] = []
  for (const check of checks) {
    const result = await runCheck(check, context)
    results.push(result)
    onResult(result)
  }
  const foreign = ledger.since(atFirst).filter(({ job_id: job }) => !jobs.has(job ?? '')).length
  return { results, spent: spent(), foreign }
}

async function runCheck({ name: invariant, run }: Check, context: Context): Promise<Result> {
  try {
    await context.settle()
    return { invariant, result: 'ok', detail: (await run(context)) ?? null }
  } catch (error) {
    if (error instanceof Skipped) return { invariant, result: 'skipped', detail: error.message }
    // An answer of another shape than expected is no answer that clients can use, either.
    const words = error instanceof Violated ? error.message : `the check ended with: ${String(error)}`
    return { invariant, result: 'FAILED', detail: words }
  }
}
