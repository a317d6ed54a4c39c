// What a quote is good for.
import { setTimeout } from 'node:timers/promises'
import { createIdempotencyKey } from '@mediagen/client/generate.ts'
import { type Check, type Context, expect, expectRefused, expectUnchanged, Skipped } from './check.ts'
import { changeInput } from './subject.ts'

const longestValidityMs = 600_000
// Clocks may differ by this much.
const clocksMs = 30_000
const longestWaitMs = 30_000

/** What holds for quotes. */
export const quoteChecks: readonly Check[] = [
  {
    name: 'a quote has quote_id, model, credits and expires_at, at most 10 minutes away',
    async run({ quote, model }) {
      const made = await quote()
      const { quote_id: id, credits, expires_at: expires } = made
      const isWhole = typeof id === 'string' && made.model === model && Number.isSafeInteger(credits) && credits >= 0
      const validMs = Date.parse(expires) - Date.now()
      expect(isWhole && validMs <= longestValidityMs + clocksMs && validMs > 0, 'such a quote', JSON.stringify(made))
    },
  },
  {
    name: 'a quote changes nothing in the account',
    async run(context) {
      const before = await context.ledger.look()
      await context.quote()
      await expectUnchanged(context, before)
    },
  },
  {
    name: 'a start without an Idempotency-Key is refused, and holds nothing',
    run: async (context) =>
      expectRefused(context, { quoteId: (await context.quote()).quote_id, idempotencyKey: null }, 400),
  },
  {
    name: 'a start with another input than the quoted one is refused, holds nothing, and leaves its key free',
    async run(context) {
      const input = await findOtherInput(context)
      await context.need(2 * context.price)
      const [quote, key] = [await context.quote(), createIdempotencyKey()]
      await expectRefused(context, { quoteId: quote.quote_id, idempotencyKey: key, input })
      const answer = await context.start({ quoteId: quote.quote_id, idempotencyKey: key })
      expect(answer.status < 300, 'the quoted input to start with the same key', `${answer.status} ${answer.body.code}`)
    },
  },
  {
    name: 'an altered quote is refused, and holds nothing',
    async run(context) {
      const { quote_id: id } = await context.quote()
      // Not the last character, some of whose bits may mean nothing.
      const at = id.length - 8
      const quoteId = `${id.slice(0, at)}${id[at] === 'A' ? 'B' : 'A'}${id.slice(at + 1)}`
      await expectRefused(context, { quoteId, idempotencyKey: createIdempotencyKey() })
    },
  },
  {
    name: 'a quote of one account is refused to another',
    async run(context) {
      const { otherKey: key, quote } = context
      if (key === undefined) throw new Skipped('--other-key was not given')
      await expectRefused(context, { quoteId: (await quote()).quote_id, idempotencyKey: createIdempotencyKey(), key })
    },
  },
]

/** Beside the others, because it uses the quote that was made first. */
export const expiryCheck: Check = {
  name: 'an expired quote is refused, and holds nothing',
  async run(context) {
    const { quote_id: quoteId, expires_at: expires } = context.firstQuote
    const leftMs = Date.parse(expires) - Date.now() + 1000
    if (leftMs > longestWaitMs)
      throw new Skipped(`the first quote is valid for ${Math.ceil(leftMs / 1000)} more seconds`)
    if (leftMs > 0) await setTimeout(leftMs)
    await expectRefused(context, { quoteId, idempotencyKey: createIdempotencyKey() })
  },
}

/** An input that the model takes, too, so that nothing but the quote can be the reason of a refusal. */
async function findOtherInput({ input, model, probe }: Context) {
  for (const other of changeInput(input))
    if ((await probe.send('/v1/quotes', { body: { model, input: other } })).status === 200) return other
  throw new Skipped('no other input could be made of this one; name one with --input that has a text')
}
