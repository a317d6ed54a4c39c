// When requests are refused, by a manual clock and rounds of an event loop that are made by hand.
import { expect, test } from 'vitest'
import { createShedder } from '../../src/guards/shedder.ts'

const maxQueueMs = 1000

/** @param busy share of the time in which the thread has the processor */
function openLoop(busy = 1) {
  let ms = 0
  let endRound = (): void => {}
  const notified: string[] = []
  const shedder = createShedder({
    maxQueueMs,
    nowMs: () => ms,
    cpuMs: () => ms * busy,
    atEndOfRound: (callback) => (endRound = callback),
    onBegin: () => notified.push('begin'),
    onEnd: (refused) => notified.push(`end ${refused}`),
  })
  return {
    shedder,
    notified,
    now: () => ms,
    pass(forMs: number) {
      ms += forMs
    },
    /** One round: so many requests, each of which takes so long when it is answered, and a quarter of that when not. */
    round(requests: number, costMs: number): { answered: number; refused: number; tookMs: number } {
      const beganMs = ms
      let answered = 0
      for (let i = 0; i < requests; i++) {
        const refused = shedder.refuses()
        if (!refused) answered += 1
        ms += refused ? costMs / 4 : costMs
      }
      endRound()
      endRound = () => {}
      return { answered, refused: requests - answered, tookMs: ms - beganMs }
    },
    /** One round of requests that are answered in any case. */
    exemptRound(requests: number, costMs: number): void {
      for (let i = 0; i < requests; i++) {
        shedder.noteExempt()
        ms += costMs
      }
      endRound()
      endRound = () => {}
    },
  }
}

type Loop = ReturnType<typeof openLoop>

/** Requests that come at `perSecond` for so long, whatever becomes of them; the longest round of the last second. */
function load(loop: Loop, perSecond: number, seconds: number, costMs = 1) {
  const endMs = loop.now() + seconds * 1000
  let [answered, refused, longestMs, tookMs] = [0, 0, 0, 10]
  while (loop.now() < endMs) {
    const due = Math.round((tookMs * perSecond) / 1000)
    // Nothing to do until the next request comes.
    if (due === 0) loop.pass(1000 / perSecond)
    const round = loop.round(Math.max(1, due), costMs)
    ;({ tookMs } = round)
    answered += round.answered
    refused += round.refused
    if (loop.now() > endMs - 1000) longestMs = Math.max(longestMs, tookMs)
  }
  return { answered, refused, longestMs }
}

test('a server that keeps up refuses nothing, however busy it is', () => {
  const loop = openLoop()
  expect(load(loop, 950, 20).refused).toBe(0)
  // Sixty-four who ask again as soon as they are answered: always busy, and nobody waits for long.
  for (let i = 0; i < 1000; i++) expect(loop.round(64, 1).refused).toBe(0)
  expect(loop.notified).toEqual([])
})

test('a burst is answered, and so is what came during a pause of the machine', () => {
  const loop = openLoop()
  expect(loop.round(900, 1).refused).toBe(0)
  expect(loop.round(100, 1).refused).toBe(0)
  expect(loop.round(1, 5000).refused).toBe(0)
  expect(loop.round(150, 1).refused).toBe(0)
  expect(loop.notified).toEqual([])
})

test('a single round that goes on beyond what requests may wait is cut short', () => {
  const { answered, tookMs } = openLoop().round(10_000, 1)
  expect(answered).toBeLessThanOrEqual(1202)
  expect(tookMs).toBeLessThan(3500)
})

test.each([1.5, 2, 3])('at %s times the capacity, the requests that are answered are answered soon', (times) => {
  const loop = openLoop()
  load(loop, times * 1000, 10)
  const { answered, refused, longestMs } = load(loop, times * 1000, 10)
  expect(longestMs).toBeLessThan(250)
  expect(refused).toBeGreaterThan(0)
  // A refusal costs a quarter of an answer here: of 3 times the load, a quarter of the capacity is left at the most.
  expect(answered / 10_000).toBeGreaterThan(times === 3 ? 0.2 : 0.6)
  expect(loop.notified).toEqual(['begin'])
})

test('at three times the capacity refusing begins before anybody waits much longer than the limit', () => {
  const loop = openLoop()
  // Four thousand connections with one request each.
  let due = 10
  while (loop.notified.length === 0) due = Math.min(4000, Math.ceil(loop.round(due, 0.2).tookMs * 15))
  expect(loop.now()).toBeLessThan(1400)
})

test('a queue that does not empty is overload even while waits are shorter than the limit', () => {
  const loop = openLoop()
  // 350 ms of requests in each round, for ever.
  const rounds = Array.from({ length: 10 }, () => loop.round(350, 1))
  expect(rounds.slice(0, 2).map(({ refused }) => refused)).toEqual([0, 0])
  expect(rounds[2]?.refused).toBeGreaterThan(0)
  expect(rounds[9]?.refused).toBeGreaterThan(300)
})

test('where others have the processor a short queue is slow, and that is no overload until it is too long', () => {
  const loop = openLoop(0.2)
  for (let i = 0; i < 20; i++) expect(loop.round(64, 10).refused).toBe(0)
  expect(loop.round(64, 30).refused + loop.round(64, 30).refused).toBeGreaterThan(0)
})

test('thousands of clients whose turn comes soon enough are answered, all of them', () => {
  const loop = openLoop()
  // 4000 at 20,000 a second: each waits for 0.2 s.
  for (let i = 0; i < 200; i++) expect(loop.round(4000, 0.05).refused).toBe(0)
})

test.each([
  [8000, 0.04],
  [4000, 0.09],
  [4000, 0.2],
])(
  '%i clients that ask again as soon as they are refused leave a good part of the time for answers',
  (clients, costMs) => {
    const loop = openLoop()
    const forMs = (ms: number) => {
      const beganMs = loop.now()
      let [answered, longestMs] = [0, 0]
      while (loop.now() < beganMs + ms) {
        const round = loop.round(clients, costMs)
        answered += round.answered
        longestMs = Math.max(longestMs, round.tookMs)
      }
      return { share: (answered * costMs) / (loop.now() - beganMs), longestMs }
    }
    forMs(3000)
    // At first the queue is to become short, in case that it can.
    expect(forMs(5000).share).toBeGreaterThan(0.04)
    forMs(5000)
    const { share, longestMs } = forMs(10_000)
    expect(share).toBeGreaterThan(costMs === 0.2 ? 0.2 : 0.38)
    expect(longestMs).toBeLessThan(300)
  },
)

test('short rounds are not measured one by one', () => {
  let ms = 0
  let marks = 0
  const shedder = createShedder({
    maxQueueMs,
    nowMs: () => ms,
    cpuMs: () => ms,
    atEndOfRound(callback) {
      marks += 1
      callback()
    },
    onBegin() {},
    onEnd() {},
  })
  for (; ms < 1000; ms += 1) shedder.refuses()
  expect(marks).toBeLessThanOrEqual(20)
})

test('when the load has gone nothing more is refused, and the end is reported after a while', () => {
  const loop = openLoop()
  const { refused } = load(loop, 3000, 10)
  loop.pass(100)
  expect(load(loop, 500, 3).refused).toBe(0)
  expect(loop.notified).toEqual(['begin', `end ${refused}`])
  expect(loop.shedder.shed()).toBe(refused)
  expect(loop.shedder.delayMs()).toBeLessThan(50)
})

test('what is answered in any case is not counted as refused, and does not make overload last', () => {
  const loop = openLoop()
  const { refused } = load(loop, 3000, 10)
  // Rounds that are long by such requests alone.
  for (let i = 0; i < 30; i++) loop.exemptRound(400, 1)
  expect(loop.shedder.shed()).toBe(refused)
  expect(loop.notified).toEqual(['begin', `end ${refused}`])
})

test('a burst is answered, and so are those who come while it is and take half as long', () => {
  const loop = openLoop()
  for (const requests of [500, 250, 125, 60]) expect(loop.round(requests, 1).refused).toBe(0)
})

test('requests that are all answered in any case begin no overload; others do, after them', () => {
  const loop = openLoop()
  for (let i = 0; i < 30; i++) loop.exemptRound(400, 1)
  expect(loop.notified).toEqual([])
  loop.round(400, 1)
  expect(loop.notified).toEqual(['begin'])
})

test('after a pause the last round counts for nothing', () => {
  const loop = openLoop()
  loop.round(1, 3000)
  expect(loop.shedder.delayMs()).toBe(3000)
  loop.pass(51)
  expect(loop.shedder.delayMs()).toBe(0)
})
