// What a start costs, however often and however many at once are sent.
import type { Job } from '@mediagen/client/client.ts'
import { createIdempotencyKey } from '@mediagen/client/generate.ts'
import { isTerminal } from '@mediagen/client/records.ts'
import { type Checks, type Context, expectRefused, expectUnchanged } from './check.ts'
import { expect, Skipped } from './probe.ts'

const mostEqualStarts = 8
const mostStarts = 50

/** What holds for starts. */
export const startChecks: Checks = {
  async 'a start holds exactly its quote, once'(context) {
    await context.affordable()
    const [quote, idempotencyKey, before] = [await context.quote(), createIdempotencyKey(), await context.ledger.look()]
    const { body: job, words } = await context.start({ quote, idempotencyKey })
    expect(job !== null, 'a job', words)
    context.main = { quote, idempotencyKey, job }
    const { quoted, held } = job.billing
    expect(quoted === quote.credits && held === quoted, `${quote.credits} credits quoted and held`, job.billing)
    const holds = await readHolds(context, before)
    expect(String(holds) === `${job.job_id}: ${quote.credits}`, `one hold of ${quote.credits} for ${job.job_id}`, holds)
  },
  async 'the same start with the same key is the same job, which wait=true awaits, and holds nothing more'(context) {
    const { job, ...start } = await findMain(context)
    const { body: waited, status, words } = await context.start({ ...start, wait: true })
    expect(waited?.job_id === job.job_id, job.job_id, `${words} ${waited?.job_id ?? ''}`)
    if (status === 202) throw new Skipped(`${job.job_id} takes longer than the server waits`)
    expect(isTerminal(waited), 'the job to have ended', waited.status)
    await expectUnchanged(context, async () => {
      const { body } = await context.start(start)
      expect(body?.job_id === job.job_id, job.job_id, body)
    })
  },
  async 'another start with the same key is refused, and holds nothing'(context) {
    const { idempotencyKey } = await findMain(context)
    await expectRefused(context, 409, { quote: await context.quote(), idempotencyKey })
  },
  async 'equal starts at once with one key are one job and one hold'(context) {
    const count = Math.min(mostEqualStarts, await context.affordable(2))
    const start = { quote: await context.quote(), idempotencyKey: createIdempotencyKey() }
    const before = await context.ledger.look()
    const answers = await Promise.all(Array.from({ length: count }, () => context.start(start)))
    const jobs = new Set(answers.map(({ body, words }) => body?.job_id ?? words))
    expect(jobs.size === 1, `one job of ${count} starts`, [...jobs])
    const holds = await readHolds(context, before)
    expect(holds.length === 1, 'one hold', holds)
    return `${count} at once`
  },
  async 'a canceled job charges nothing, and canceling again changes nothing'(context) {
    await context.affordable()
    const { body, words } = await context.start({
      quote: await context.quote(),
      idempotencyKey: createIdempotencyKey(),
    })
    expect(body !== null, 'a job', words)
    const cancel = () => context.probe.get<Job>(`/v1/jobs/${body.job_id}/cancel`, { method: 'POST' })
    await cancel()
    await context.settle()
    await expectUnchanged(context, cancel)
    const { status, billing } = await context.probe.get<Job>(`/v1/jobs/${body.job_id}`)
    if (status !== 'canceled') throw new Skipped(`the job had ${status} before it could be canceled`)
    expect(billing.charged === 0 && billing.released === billing.held, 'everything released', billing)
  },
}

/** After the others, because it spends what the account has. */
export const overdraftCheck: Checks = {
  async 'starts at once never hold more than the account has'(context) {
    const { ledger, price, probe } = context
    await ledger.look()
    const { available } = ledger
    const count = Math.floor(available / price) + 1
    if (count > Math.min(mostStarts, context.left() / price))
      throw new Skipped(`the account has ${available} credits, and --max-credits leaves ${context.left()}`)
    const quotes = await Promise.all(Array.from({ length: count }, () => context.quote()))
    const [before, known] = [await ledger.look(), probe.refusals.length]
    const start = (quote: (typeof quotes)[0]) => context.start({ quote, idempotencyKey: createIdempotencyKey() })
    const accepted = (await Promise.all(quotes.map(start))).filter(({ body }) => body).length
    await context.settle()
    await ledger.look()
    const released = ledger
      .since(before)
      .reduce((sum, { kind, credits }) => sum + (kind === 'release' ? credits : 0), 0)
    const bound = Math.floor((available + released) / price)
    expect(accepted <= bound, `at most ${bound} of ${count} starts accepted`, `${accepted}`)
    const others = probe.refusals.slice(known).filter(({ problem }) => problem.status !== 402 && !problem.retryable)
    expect(
      others.length === 0,
      'HTTP 402 of what cannot be paid',
      others.map(({ code }) => code),
    )
    return `${count} at once, ${accepted} accepted`
  },
}

async function findMain({ main, affordable }: Context): Promise<NonNullable<Context['main']>> {
  if (!main) throw new Skipped('there is no job to repeat')
  await affordable()
  return main
}

async function readHolds({ ledger }: Context, before: string | undefined): Promise<readonly string[]> {
  await ledger.look()
  const holds = ledger.since(before).filter(({ kind }) => kind === 'hold')
  return holds.map(({ job_id: job, credits }) => `${job}: ${credits}`)
}
