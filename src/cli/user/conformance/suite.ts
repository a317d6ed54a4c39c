// Runs the checks one after the other, and keeps account of what they spend.
import { createClient, type Input, type Job, type Quote } from '@mediagen/client/client.ts'
import { isTerminal } from '@mediagen/client/records.ts'
import type { Login } from '../server.ts'
import { countCredits } from '../words.ts'
import type { Context } from './check.ts'
import { catalogChecks, expiryCheck, quoteChecks } from './interface.ts'
import { openLedger } from './ledger.ts'
import { type Probe, Skipped, Violated } from './probe.ts'
import { overdraftCheck, startChecks } from './starts.ts'
import type { Subject } from './subject.ts'
import { totalChecks } from './totals.ts'

// A job that takes longer fails its check.
const jobMs = 900_000
const checks = [catalogChecks, quoteChecks, startChecks, expiryCheck, overdraftCheck, totalChecks]

/** How one check ended; `detail` is what was seen, or why it was skipped. */
export interface Result {
  readonly invariant: string
  readonly result: 'ok' | 'FAILED' | 'skipped'
  readonly detail: string | null
}

/** What the suite is run with. */
export interface Options extends Subject, Pick<Context, 'account' | 'otherKey'> {
  readonly login: Login
  readonly probe: Probe
  readonly maxCredits: number
  readonly onResult: (result: Result) => void
}

/** What the suite did; `foreign` counts ledger entries that are of no job of its own. */
export interface Outcome {
  readonly results: readonly Result[]
  readonly spent: number
  readonly foreign: number
}

/** Runs every check. */
export async function runSuite(options: Options): Promise<Outcome> {
  const { probe, model, input, firstQuote, maxCredits, onResult } = options
  const price = firstQuote.credits
  const client = createClient(options.login)
  const jobs = new Map<string, Job>()
  const ledger = await openLedger(probe)
  const atFirst = await ledger.look()
  const own = () => ledger.since(atFirst).filter(({ job_id: id }) => id !== null && jobs.has(id))
  const sum = (kind: string) => own().reduce((credits, entry) => credits + (entry.kind === kind ? entry.credits : 0), 0)
  const spent = (): number => sum('hold') - sum('release')
  const context: Context = {
    ...options,
    price,
    ledger,
    main: null,
    quote: (of: Input = input) => probe.get<Quote>('/v1/quotes', { body: { model, input: of } }),
    async start({ quote, idempotencyKey: key, input: of = input, wait = false, headers }) {
      const answer = await probe.send<Job>(`/v1/generate${wait ? '?wait=true' : ''}`, {
        body: { model, input: of, quote_id: quote.quote_id },
        headers: { ...headers, ...(key !== undefined && { 'idempotency-key': key }) },
      })
      if (answer.body) jobs.set(answer.body.job_id, answer.body)
      return answer
    },
    left: () => maxCredits - spent(),
    async affordable(least = 1) {
      await ledger.look()
      const credits = Math.min(maxCredits - spent(), ledger.available)
      if (credits >= least * price) return Math.floor(credits / price)
      const available = `${ledger.available} are available, and --max-credits leaves ${maxCredits - spent()}`
      throw new Skipped(`it needs ${countCredits(least * price)}, but ${available}`)
    },
    async settle() {
      for (const [id, job] of jobs)
        if (!isTerminal(job)) jobs.set(id, await client.follow(id, { signal: AbortSignal.timeout(jobMs) }))
      return [...jobs.values()]
    },
  }
  const results: Result[] = []
  for (const [invariant, run] of checks.flatMap((group) => Object.entries(group))) {
    const result = { invariant, ...(await runCheck(run, context)) }
    results.push(result)
    onResult(result)
  }
  return { results, spent: spent(), foreign: ledger.since(atFirst).length - own().length }
}

async function runCheck(
  run: (context: Context) => Promise<string | void>,
  context: Context,
): Promise<Omit<Result, 'invariant'>> {
  try {
    await context.settle()
    return { result: 'ok', detail: (await run(context)) ?? null }
  } catch (error) {
    if (error instanceof Skipped) return { result: 'skipped', detail: error.message }
    // Records of another shape are no use to clients, either, and end a check in an error.
    return {
      result: 'FAILED',
      detail: error instanceof Violated ? error.message : `the check ended in ${String(error)}`,
    }
  }
}
