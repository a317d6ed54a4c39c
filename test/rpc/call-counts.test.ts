// What is told of calls is what prom-client would tell of them, had it counted them itself.
import * as fc from 'fast-check'
import { Counter, Histogram, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createCallCounts, durationBounds } from '../../src/rpc/call-counts.ts'

const calls = fc.array(
  fc.record({
    rpc: fc.constantFrom('QuotesService.CreateQuote', 'WalletService.GetWallet'),
    code: fc.constantFrom('ok', 'invalid_input', 'internal'),
    seconds: fc.oneof(fc.constantFrom(0, ...durationBounds), fc.double({ min: 0, max: 400, noNaN: true })),
  }),
  { maxLength: 50 },
)

test('calls and durations read as prom-client would count them, as often as they are asked for', async () => {
  await fc.assert(
    fc.asyncProperty(calls, async (any) => {
      const ours = new Registry()
      const count = createCallCounts(ours)
      const theirs = new Registry()
      const registers = [theirs]
      const total = new Counter({
        name: 'mediagen_rpc_total',
        help: 'Calls by rpc and outcome (ok or error code)',
        labelNames: ['rpc', 'code'],
        registers,
      })
      const seconds = new Histogram({
        name: 'mediagen_rpc_seconds',
        help: 'How long calls took',
        labelNames: ['rpc'],
        buckets: durationBounds,
        registers,
      })
      for (const call of any) {
        count(call.rpc, call.code, call.seconds)
        total.inc({ rpc: call.rpc, code: call.code })
        seconds.observe({ rpc: call.rpc }, call.seconds)
      }
      const expected = await theirs.metrics()
      for (let scrape = 0; scrape < 2; scrape++) expect(toLines(await ours.metrics())).toEqual(toLines(expected))
    }),
  )
})

/** The order in which outcomes came first is nobody's promise. */
function toLines(text: string): string[] {
  return text.split('\n').toSorted()
}
