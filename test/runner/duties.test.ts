// Questions to other servers about jobs without a run: which are asked at once. Their answers: reviews.test.ts and paid.test.ts.
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Duty } from '@mediagen/core/store.ts'
import { startDuties } from '../../src/runner/duties.ts'

const mostAtOnce = 16
// Far less than a server may take to answer.
const soon = { timeout: 10_000 }

/** Starts asking; a model is its engine, and `slow` never answers. */
function startAsking(owed: Duty[]) {
  const ended: string[] = []
  let waiting = 0
  const engines = new Map([
    ['quick', { cancel: () => Promise.resolve() }],
    [
      'slow',
      {
        async cancel(_spec: unknown, { signal }: { signal: AbortSignal }): Promise<void> {
          waiting += 1
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          throw signal.reason
        },
      },
    ],
  ])
  const parts = {
    store: {
      claimDuties: (most: number) => Promise.resolve(owed.splice(0, most)),
      answerDuty: (duty: Duty, { outcome }: { outcome: string }) => {
        ended.push(`${duty.jobId} ${outcome}`)
        return Promise.resolve()
      },
    },
    catalog: { find: (model: string) => ({ engine: { kind: model } }) },
    engines,
    reviewMs: 3_600_000,
    random: () => 0.5,
    log: pino({ level: 'silent' }),
  }
  const { stop } = startDuties(parts as unknown as Parameters<typeof startDuties>[0])
  return { ended, waiting: () => waiting, [Symbol.asyncDispose]: stop }
}

const owe = (jobId: string, model: 'quick' | 'slow') =>
  ({ jobId, model, kind: 'cancel', checkpoint: null, attempts: 1, ageMs: 0 }) as unknown as Duty

test('a server that does not answer holds up no question to another', async () => {
  const owed = [owe('first', 'slow')]
  await using asking = startAsking(owed)
  await expect.poll(asking.waiting, soon).toBe(1)
  owed.push(owe('second', 'quick'))
  await expect.poll(() => asking.ended, soon).toEqual(['second done'])
})

test('as many are asked at once as there are places, and a stop gives back what was not answered', async () => {
  const slow = Array.from({ length: mostAtOnce - 1 }, (_, n) => owe(`slow ${n}`, 'slow'))
  const quick = Array.from({ length: 20 }, (_, n) => owe(`quick ${n}`, 'quick'))
  const owed = [...slow, ...quick, ...slow]
  const asking = startAsking(owed)
  // One place is left for the quick ones; each is followed by the next at once. The last one is taken by a slow one.
  await expect.poll(() => asking.ended.length, soon).toBe(quick.length)
  await expect.poll(asking.waiting, soon).toBe(mostAtOnce)
  expect(owed).toHaveLength(slow.length - 1)
  await asking[Symbol.asyncDispose]()
  expect(asking.ended.filter((line) => line.endsWith('again'))).toHaveLength(mostAtOnce)
})
