// What a start costs, however often and however many at once are sent.
import type { Job } from '@mediagen/client/client.ts'
import { createIdempotencyKey } from '@mediagen/client/generate.ts'
import { isTerminal } from '@mediagen/client/records.ts'
import { type Check, type Context, expect, expectUnchanged, Skipped } from './check.ts'
import { describe } from './probe.ts'

const mostEqualStarts = 8
const mostStarts = 50
const passing: ReadonlySet<number> = new Set([429, 503])

/** What holds for starts. */
export const startChecks: readonly Check[] = [
  {
    name: 'a start holds exactly its quote, once',
    async run(context) {
      await context.need(context.price)
      const [quote, key] = [await context.quote(), createIdempotencyKey()]
      const before = await context.ledger.look()
      const answer = await context.start({ quoteId: quote.quote_id, idempotencyKey: key })
      const { job_id: id, billing } = answer.body
      expect(answer.status < 300 && id !== undefined, 'a job', describe(answer))
      context.main = { key, quote, job: answer.body as Job }
      const [quoted, held] = [billing?.quoted, billing?.held]
      expect(
        quoted === quote.credits && held === quote.credits,
        `billing of ${quote.credits}`,
        `${quoted}, ${held} held`,
      )
      await context.ledger.look()
      const holds = context.ledger.since(before).filter(({ kind }) => kind === 'hold')
      const seen = holds.map(({ credits, job_id: job }) => `${credits} for ${job}`).join(', ') || 'none'
      expect(seen === `${quote.credits} for ${id}`, `one hold, of ${quote.credits} for ${id}`, seen)
    },
  },
  {
    name: 'the same start with the same key is the same job, which wait=true awaits, and charges nothing more',
    async run(context) {
      const { key, quote, job } = findMain(context)
      await context.need(context.price)
      const again = { quoteId: quote.quote_id, idempotencyKey: key }
      const waited = await context.start({ ...again, wait: true })
      expect(waited.body.job_id === job.job_id, job.job_id, describe(waited))
      if (waited.status === 202) throw new Skipped(`${job.job_id} takes longer than the server waits`)
      expect(isTerminal(waited.body as Job), 'the job to have ended', `${waited.body.status}`)
      const before = await context.ledger.look()
      const answer = await context.start(again)
      expect(answer.body.job_id === job.job_id, job.job_id, describe(answer))
      await expectUnchanged(context, before)
    },
  },
  {
    name: 'another start with the same key is refused (409), and holds nothing',
    async run(context) {
      const { key } = findMain(context)
      await context.need(context.price)
      const before = await context.ledger.look()
      const answer = await context.start({ quoteId: (await context.quote()).quote_id, idempotencyKey: key })
      expect(answer.status === 409, 'HTTP 409', describe(answer))
      await expectUnchanged(context, before)
    },
  },
  {
    name: 'equal starts at once with one key are one job and one hold',
    async run(context) {
      await context.need(2 * context.price)
      const affordable = Math.min(context.left(), context.ledger.wallet().available)
      const count = Math.min(mostEqualStarts, Math.floor(affordable / context.price))
      const [quote, key] = [await context.quote(), createIdempotencyKey()]
      const before = await context.ledger.look()
      const send = () => context.start({ quoteId: quote.quote_id, idempotencyKey: key })
      const answers = await Promise.all(Array.from({ length: count }, send))
      const jobs = new Set(answers.map((answer) => answer.body.job_id ?? describe(answer)))
      expect(jobs.size === 1, `one job of ${count} starts`, [...jobs].join(', '))
      await context.ledger.look()
      const holds = context.ledger.since(before).filter(({ kind }) => kind === 'hold')
      expect(holds.length === 1, 'one hold', `${holds.length}`)
      return `${count} at once`
    },
  },
  {
    name: 'a canceled job charges nothing, and canceling again changes nothing',
    async run(context) {
      await context.need(context.price)
      const { quote_id: quoteId } = await context.quote()
      const { status: started, body } = await context.start({ quoteId, idempotencyKey: createIdempotencyKey() })
      expect(started < 300, 'a job', `HTTP ${started} ${body.code}`)
      const path = `/v1/jobs/${body.job_id}`
      await context.probe.send(`${path}/cancel`, { method: 'POST' })
      await context.settle()
      const before = await context.ledger.look()
      const { status, billing } = (await context.probe.send<Job>(`${path}/cancel`, { method: 'POST' })).body
      await expectUnchanged(context, before)
      if (status !== 'canceled') throw new Skipped(`${body.job_id} had ${status} before it could be canceled`)
      const isFree = billing?.charged === 0 && billing.released === billing.held
      expect(isFree, 'everything released', JSON.stringify(billing))
    },
  },
]

/** Last, because it spends what the account has. */
export const overdraftCheck: Check = {
  name: 'starts at once never hold more than the account has',
  async run(context) {
    const { ledger, price, left } = context
    await ledger.look()
    const { available } = ledger.wallet()
    const [affordable, most] = [Math.floor(available / price), Math.min(mostStarts, Math.floor(left() / price))]
    const count = affordable + 1
    if (count > most)
      throw new Skipped(
        `the account has ${available} credits, and ${Math.max(0, most * price - price)} would be few enough for what --max-credits leaves`,
      )
    const quotes = await Promise.all(Array.from({ length: count }, () => context.quote()))
    const before = await ledger.look()
    const answers = await Promise.all(
      quotes.map(({ quote_id: quoteId }) => context.start({ quoteId, idempotencyKey: createIdempotencyKey() })),
    )
    const refused = answers.filter(({ status }) => status >= 300)
    await context.settle()
    await ledger.look()
    const sum = (kind: string): number =>
      ledger.since(before).reduce((credits, entry) => credits + (entry.kind === kind ? entry.credits : 0), 0)
    const accepted = (count - refused.length) * price
    const bound = available + sum('release')
    expect(accepted <= bound, `at most ${bound} credits held by ${count} starts`, `${accepted}`)
    const odd = refused.find(({ status }) => status !== 402 && !passing.has(status))
    expect(!odd, 'HTTP 402 of what cannot be paid', odd ? describe(odd) : '')
    const isPoor = refused.every(({ body }) => body.code === 'insufficient_credits')
    expect(!isPoor || accepted >= affordable * price, `${affordable} jobs`, `${count - refused.length}`)
    return `${count} at once, ${count - refused.length} accepted`
  },
}

function findMain({ main }: Context): NonNullable<Context['main']> {
  if (!main) throw new Skipped('there is no job to repeat')
  return main
}
