// Jobs that wait for servers of others take no slots: others compute meanwhile, in their turn, and nothing is lost or begun twice.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EngineRun } from '@mediagen/engine/engine.ts'
import { expect, test, vi } from 'vitest'
import { createAllowance } from '../../src/runner/slots/allowance.ts'
import { openHost, openRawHost } from '../files/media/media-app.ts'
import { type Bench, leaveNothing, leavePicture, startBench, untilAborted } from './fixture.ts'

const picture = readFileSync(join(import.meta.dirname, '../models/picture.png'))
const soon = { interval: 20 }

/** An engine whose runs end when they are told. */
function createGates() {
  const begun: string[] = []
  const gates = new Map<string, () => void>()
  return {
    begun,
    async run(run: EngineRun) {
      const name = String(run.input['prompt'])
      begun.push(name)
      const { promise, resolve } = Promise.withResolvers<void>()
      gates.set(name, resolve)
      await Promise.race([promise, untilAborted(run)])
      return leavePicture(run)
    },
    open: (name: string) => gates.get(name)?.(),
  }
}

const statusOf = async (bench: Bench, jobId: string) => (await bench.store.getJob(null, jobId))?.status
const promptOf = (prompt: string, ...images: string[]) => ({ input: { prompt, images } })
/** A server that never answers. */
const openSilentHost = () => openRawHost(() => {})

test('while jobs of one account wait for slow servers, as many as it may have, the job of another ends', async () => {
  await using slow = await openSilentHost()
  await using bench = await startBench({ run: leaveNothing, slots: 2, concurrency: 2 })
  const other = await bench.store.createAccount('other', 100)
  const waiting = []
  for (let i = 0; i < 6; i++) waiting.push(await bench.start(10, promptOf('slow', `${slow.url}/${i}`)))
  // Twice as many as there are slots.
  await expect.poll(() => slow.open, soon).toBe(4)
  const job = await bench.start(10, { accountId: other.accountId })
  await expect.poll(() => statusOf(bench, job.jobId), soon).toBe('succeeded')
  const states = await Promise.all(waiting.map(({ jobId }) => statusOf(bench, jobId)))
  expect(states).toEqual([...Array<string>(4).fill('running'), 'queued', 'queued'])
  expect(slow.open).toBe(4)
})

test('one claim of several jobs does not take their account beyond its maximum', async () => {
  const { promise: started, resolve: endStarts } = Promise.withResolvers<void>()
  let isHeld = false
  await using slow = await openSilentHost()
  await using bench = await startBench({
    run: leaveNothing,
    slots: 2,
    concurrency: 2,
    wrapStore: (store) => ({
      ...store,
      async claimJobs(claim) {
        if (isHeld) await started
        return store.claimJobs(claim)
      },
    }),
  })
  const startSlow = (path: string) => bench.start(10, promptOf('slow', `${slow.url}/${path}`))
  for (const path of ['1', '2', '3']) await startSlow(path)
  await expect.poll(() => slow.open, soon).toBe(3)
  isHeld = true
  const together = [await startSlow('4'), await startSlow('5')]
  endStarts()
  const other = await bench.store.createAccount('other', 100)
  const job = await bench.start(10, { accountId: other.accountId })
  await expect.poll(() => statusOf(bench, job.jobId), soon).toBe('succeeded')
  expect(await Promise.all(together.map(({ jobId }) => statusOf(bench, jobId)))).toEqual(['running', 'queued'])
})

test('of many accounts, what waits beyond the bound takes slots: a worker fetches only so much at a time', async () => {
  await using slow = await openSilentHost()
  await using bench = await startBench({ run: leaveNothing, slots: 1, concurrency: 100 })
  for (let i = 0; i < 12; i++) {
    const { accountId } = await bench.store.createAccount(`account ${i}`, 100)
    await bench.start(10, { accountId, ...promptOf('slow', `${slow.url}/${i}`) })
  }
  // Eight for the slot, and one more that has it.
  await expect.poll(() => slow.open, soon).toBe(9)
  const job = await bench.start()
  expect(await statusOf(bench, job.jobId)).toBe('queued')
})

/** One slot, which a run of another account has until `work` is opened; behind it runs that have their files. */
async function startBehind(bench: Bench, names: readonly string[], fields = {}) {
  const { promise: everyoneAsked, resolve } = Promise.withResolvers<void>()
  const answers: (() => void)[] = []
  const host = await openHost((_request, response) => {
    answers.push(() => void response.end(picture))
    if (answers.length === names.length) resolve()
  })
  const fetched = []
  for (const name of names) fetched.push(await bench.start(10, { ...promptOf(name, `${host.url}/${name}`), ...fields }))
  await everyoneAsked
  const other = await bench.store.createAccount('other', 100)
  const work = await bench.start(10, { accountId: other.accountId, ...promptOf('work') })
  await expect.poll(() => statusOf(bench, work.jobId), soon).toBe('running')
  for (const answer of answers) answer()
  for (const job of fetched) await expect.poll(() => bench.mediaOf(job), soon).toEqual(['0.png'])
  await host[Symbol.asyncDispose]()
  return fetched
}

test('runs that have their files and the queue take turns', async () => {
  const { begun, run, open } = createGates()
  await using bench = await startBench({ run, slots: 1, concurrency: 1 })
  const other = await bench.store.createAccount('other', 100)
  await startBehind(bench, ['fetched 1', 'fetched 2'])
  for (const name of ['queued 1', 'queued 2']) await bench.start(10, { accountId: other.accountId, ...promptOf(name) })
  const order = ['work', 'fetched 1', 'queued 1', 'fetched 2', 'queued 2']
  for (const [index, name] of order.entries()) {
    await expect.poll(() => begun, soon).toEqual(order.slice(0, index + 1))
    open(name)
  }
})

test('a run that has its files and waits for a slot can be canceled, and its deadline passes', async () => {
  const { begun, run, open } = createGates()
  await using bench = await startBench({ run, slots: 1 })
  const [canceled, late] = await startBehind(bench, ['canceled', 'late'], { expiresInMs: 5000 })
  if (!canceled || !late) throw new Error('no jobs')
  await bench.store.requestCancel(bench.accountId, canceled.jobId)
  expect(await bench.end(canceled)).toMatchObject({
    status: 'canceled',
    error: { code: 'canceled' },
    creditsCharged: 0,
  })
  expect(await bench.end(late)).toMatchObject({
    status: 'canceled',
    error: { code: 'deadline_passed' },
    creditsCharged: 0,
  })
  open('work')
  await expect.poll(() => bench.ended, soon).toEqual(['canceled', 'canceled', 'succeeded'])
  expect(begun).toEqual(['work'])
  await expect.poll(bench.runFolders, soon).toEqual([])
})

test('a server that stops returns jobs that fetch, or have fetched, to the queue', async () => {
  const { begun, run } = createGates()
  await using bench = await startBench({ run, slots: 1 })
  await using slow = await openSilentHost()
  const fetching = await bench.start(10, promptOf('slow', slow.url))
  await expect.poll(() => slow.open, soon).toBe(1)
  const [fetched] = await startBehind(bench, ['fetched'])
  if (!fetched) throw new Error('no job')
  await bench.runner.stop(0)
  expect(begun).toEqual(['work'])
  expect(await statusOf(bench, fetched.jobId)).toBe('queued')
  expect(await statusOf(bench, fetching.jobId)).toBe('queued')
  expect(bench.runFolders()).toEqual([])
})

test('a server that stops lets those go on that have their files, within its grace', async () => {
  const { run, open, begun } = createGates()
  await using bench = await startBench({ run, slots: 1 })
  const [fetched] = await startBehind(bench, ['fetched'])
  if (!fetched) throw new Error('no job')
  const stopped = bench.runner.stop(8000)
  open('work')
  await expect.poll(() => begun, soon).toEqual(['work', 'fetched'])
  open('fetched')
  await stopped
  expect(await statusOf(bench, fetched.jobId)).toBe('succeeded')
})

test('four files of a job are fetched at a time, and the first that cannot be had ends the others', async () => {
  const asked: string[] = []
  await using host = await openHost(({ url = '' }, response) => {
    asked.push(url)
    if (url === '/4') response.writeHead(404).end()
  })
  await using bench = await startBench({ run: leaveNothing })
  const urls = Array.from({ length: 9 }, (_, index) => `${host.url}/${index}`)
  const job = await bench.start(10, promptOf('many', ...urls))
  await expect.poll(() => asked.toSorted(), soon).toEqual(['/0', '/1', '/2', '/3'])
  await bench.store.requestCancel(bench.accountId, job.jobId)
  await expect.poll(() => host.open, soon).toBe(0)
  const failing = await bench.start(10, promptOf('many', ...urls.slice(2, 6)))
  expect(await bench.end(failing)).toMatchObject({
    status: 'failed',
    error: { code: 'media_unavailable', message: 'images[2] cannot be fetched: 127.0.0.1 answered 404.' },
    creditsCharged: 0,
  })
  await expect.poll(() => host.open, soon).toBe(0)
})

test('time that is held does not count', () => {
  vi.useFakeTimers()
  try {
    const spent = vi.fn()
    const time = createAllowance(1000, spent)
    time.run()
    vi.advanceTimersByTime(400)
    time.hold()
    vi.advanceTimersByTime(5000)
    time.run()
    vi.advanceTimersByTime(599)
    expect(spent).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(spent).toHaveBeenCalledOnce()
  } finally {
    vi.useRealTimers()
  }
})
