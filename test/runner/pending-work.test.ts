// Questions to other servers about jobs without a run: which are asked at once. Their answers: reviews.test.ts and paid.test.ts.
import { pino } from 'pino'
import { afterEach, expect, test, vi } from 'vitest'
import type { PendingWork } from '../../src/core/store.ts'
import { startPendingWork } from '../../src/runner/pending-work.ts'

const mostAtOnce = 16
// Later than a prompt answer comes, and long before no answer is awaited any more.
const lateMs = 5000
// Far less than a server may take to answer.
const soon = { timeout: 10_000 }

/** Starts asking; a model is its engine, with its provider behind a slash. `slow` answers, or gives up, when it is told. */
function startAsking(owed: PendingWork[]) {
  const ended: string[] = []
  let asked = 0
  const waiting: { answer(): void; giveUp(): void }[] = []
  const engines = new Map([
    ['quick', { cancel: () => Promise.resolve() }],
    [
      'slow',
      {
        async cancel(_spec: unknown, { signal }: { signal: AbortSignal }): Promise<void> {
          asked += 1
          const { promise, resolve, reject } = Promise.withResolvers<void>()
          waiting.push({ answer: resolve, giveUp: () => reject(new Error('no answer')) })
          signal.addEventListener('abort', () => reject(signal.reason))
          return promise
        },
      },
    ],
  ])
  const deps = {
    store: {
      claimPendingWork: (most: number) => Promise.resolve(owed.splice(0, most)),
      answerPendingWork: (pending: PendingWork, { outcome }: { outcome: string }) => {
        ended.push(`${pending.jobId} ${outcome}`)
        return Promise.resolve()
      },
    },
    catalog: {
      find(model: string) {
        const [kind, name] = model.split('/')
        return { engine: { kind, ...(name && { provider: { name } }) } }
      },
    },
    engines,
    reviewMs: 3_600_000,
    random: () => 0.5,
    log: pino({ level: 'silent' }),
  }
  const { stop } = startPendingWork(deps as unknown as Parameters<typeof startPendingWork>[0])
  return {
    ended,
    /** Questions that `slow` was ever asked. */
    asked: () => asked,
    answer: () => waiting.splice(0).forEach(({ answer }) => answer()),
    giveUp: () => waiting.splice(0).forEach(({ giveUp }) => giveUp()),
    [Symbol.asyncDispose]: stop,
  }
}

const owe = (jobId: string, model: string) =>
  ({ jobId, model, kind: 'cancel', checkpoint: null, attempts: 1, ageMs: 0 }) as unknown as PendingWork

afterEach(() => void vi.useRealTimers())

test('a server that does not answer holds up no question to another', async () => {
  const owed = [owe('first', 'slow')]
  await using asking = startAsking(owed)
  await expect.poll(asking.asked, soon).toBe(1)
  owed.push(owe('second', 'quick'))
  await expect.poll(() => asking.ended, soon).toEqual(['second done'])
})

test('as many are asked at once as there are slots, and a stop gives back what was not answered', async () => {
  const slow = Array.from({ length: mostAtOnce - 1 }, (_, n) => owe(`slow ${n}`, 'slow'))
  const quick = Array.from({ length: 20 }, (_, n) => owe(`quick ${n}`, 'quick'))
  const owed = [...slow, ...quick, ...slow]
  const asking = startAsking(owed)
  // One slot is left for the quick ones; each is followed by the next at once. The last one is taken by a slow one.
  await expect.poll(() => asking.ended.length, soon).toBe(quick.length)
  await expect.poll(asking.asked, soon).toBe(mostAtOnce)
  expect(owed).toHaveLength(slow.length - 1)
  await asking[Symbol.asyncDispose]()
  expect(asking.ended.filter((line) => line.endsWith('again'))).toHaveLength(mostAtOnce)
})

test('providers that do not answer take no slots from others, however many they are', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const owed = Array.from({ length: mostAtOnce }, (_, n) => owe(`silent ${n}`, `slow/p${n}`))
  await using asking = startAsking(owed)
  await expect.poll(asking.asked, soon).toBe(mostAtOnce)
  owed.push(owe('first', 'quick/q'))
  vi.advanceTimersByTime(lateMs)
  await expect.poll(() => asking.ended, soon).toEqual(['first done'])
  // Further questions to them wait for the one that is not answered.
  const more = Array.from({ length: mostAtOnce }, (_, n) => owe(`more ${n}`, `slow/p${n}`))
  owed.push(...more, ...more, owe('second', 'quick/q'))
  await expect.poll(() => asking.ended, soon).toContain('second done')
  expect(asking.ended.filter((line) => /^more \d+ again$/.test(line))).toHaveLength(2 * mostAtOnce)
  expect(asking.asked()).toBe(mostAtOnce)
})

test('a provider that did not answer is asked one question at a time, until it answers promptly', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const owed = [owe('first', 'slow/p')]
  await using asking = startAsking(owed)
  await expect.poll(asking.asked, soon).toBe(1)
  vi.advanceTimersByTime(lateMs)
  asking.giveUp()
  await expect.poll(() => asking.ended, soon).toEqual(['first again'])
  owed.push(owe('second', 'slow/p'), owe('third', 'slow/p'))
  await expect.poll(() => asking.ended.slice(1), soon).toEqual(['third again'])
  expect(asking.asked()).toBe(2)
  asking.answer()
  await expect.poll(() => asking.ended.slice(2), soon).toEqual(['second done'])
  owed.push(owe('fourth', 'slow/p'), owe('fifth', 'slow/p'))
  await expect.poll(asking.asked, soon).toBe(4)
  asking.answer()
  await expect.poll(() => asking.ended.slice(3), soon).toEqual(['fourth done', 'fifth done'])
})
