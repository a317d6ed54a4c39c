// One account may have every slot while nobody else waits; when somebody does, it neither keeps them nor gets them back.
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { EngineRun } from '@mediagen/engine/engine.ts'
import { expect, test } from 'vitest'
import type { Store } from '../../src/core/store.ts'
import { openHost } from '../files/media/media-app.ts'
import { type Bench, type BenchSettings, leaveNothing, startBench, untilAborted } from './fixture.ts'

const soon = { interval: 20 }

/** An engine whose runs end when they are told; jobs are named by their prompt. */
function createGates() {
  const gates = new Map<string, () => void>()
  return {
    running: () => [...gates.keys()].toSorted(),
    async run(run: EngineRun) {
      const name = String(run.input['prompt'])
      const { promise, resolve } = Promise.withResolvers<void>()
      gates.set(name, resolve)
      await Promise.race([promise, untilAborted(run)])
      gates.delete(name)
      return leaveNothing()
    },
    open: (name: string) => gates.get(name)?.(),
  }
}

/** Queues jobs `a1`, `a2` … of the account a, and so on. */
async function createQueue(bench: Bench) {
  const accounts = new Map<string, string>()
  for (const name of ['a', 'b', 'c']) accounts.set(name, (await bench.store.createAccount(name, 10_000)).accountId)
  return async (names: readonly string[], credits = 10, images: readonly string[] = []): Promise<void> => {
    for (const prompt of names) {
      const accountId = accounts.get(prompt.slice(0, 1)) ?? ''
      await bench.start(credits, { accountId, input: { prompt, images: [...images] } })
    }
  }
}

test('MEDIAGEN_SPARE_PROCESSES: one account may have every slot, and the job of another one still begins at once', async () => {
  const gates = createGates()
  await using bench = await startBench({ run: gates.run, slots: 4, slotsPerAccount: 2, spareSlots: 1 })
  const queue = await createQueue(bench)
  await queue(['a1', 'a2', 'a3', 'a4', 'a5', 'a6'])
  await expect.poll(gates.running, soon).toEqual(['a1', 'a2', 'a3', 'a4'])
  await queue(['b1', 'b2'])
  await expect.poll(gates.running, soon).toEqual(['a1', 'a2', 'a3', 'a4', 'b1'])
  await queue(['c1'])
  // There is one spare slot, and it is taken: that of the first which ends is for who has least.
  gates.open('a1')
  gates.open('a2')
  await expect.poll(gates.running, soon).toEqual(['a3', 'a4', 'b1', 'c1'])
})

test('MEDIAGEN_MAX_PLACES_PER_ACCOUNT: slots that become free go to others until an account is down to its share', async () => {
  const gates = createGates()
  await using bench = await startBench({ run: gates.run, slots: 4, slotsPerAccount: 2, spareSlots: 0 })
  const queue = await createQueue(bench)
  await queue(['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7', 'a8'])
  await expect.poll(gates.running, soon).toEqual(['a1', 'a2', 'a3', 'a4'])
  // So dear that by credits alone all of a would come before the second of them.
  await queue(['b1', 'b2', 'b3'], 1000)
  gates.open('a1')
  await expect.poll(gates.running, soon).toEqual(['a2', 'a3', 'a4', 'b1'])
  gates.open('a2')
  await expect.poll(gates.running, soon).toEqual(['a3', 'a4', 'b1', 'b2'])
  gates.open('a3')
  await expect.poll(gates.running, soon).toEqual(['a4', 'a5', 'b1', 'b2'])
  gates.open('b1')
  await expect.poll(gates.running, soon).toEqual(['a4', 'a5', 'b2', 'b3'])
  // Nobody else waits any more.
  gates.open('b2')
  await expect.poll(gates.running, soon).toEqual(['a4', 'a5', 'a6', 'b3'])
  gates.open('b3')
  await expect.poll(gates.running, soon).toEqual(['a4', 'a5', 'a6', 'a7'])
})

test('runs that have fetched their files get no more than the share, either', async () => {
  await using full = await startFull(4, { slots: 2, spareSlots: 1 })
  const { gates, queue, first, second } = full
  await queue(['b1', 'b2'])
  await expect.poll(gates.running, soon).toEqual([first, second, 'b1'])
  gates.open(first)
  gates.open(second)
  // One of a and one of b, though three of a have had their files for long.
  await expect.poll(gates.running, soon).toEqual([expect.stringMatching(/^a/), 'b1'])
  gates.open('b1')
  await expect.poll(gates.running, soon).toEqual([expect.stringMatching(/^a/), 'b2'])
})

test('a spare slot that becomes free while the queue is asked is offered to the queue first', async () => {
  await using full = await startFull(3, { slots: 2, spareSlots: 1 })
  const { gates, queue, first, second, pause } = full
  await queue(['b1', 'b2'])
  await expect.poll(gates.running, soon).toEqual([first, second, 'b1'])
  gates.open(first)
  await expect.poll(gates.running, soon).toEqual([second, 'b1'])
  await pause.begin()
  gates.open('b1')
  await expect.poll(full.bench.current, soon).toBe(2)
  pause.end()
  await expect.poll(gates.running, soon).toEqual([second, 'b2'].toSorted())
  // Nobody else waits any more.
  gates.open('b2')
  await expect.poll(gates.running, soon).toEqual(['a1', 'a2', 'a3'].filter((name) => name !== first))
})

test('so is a slot that becomes free while the queue, which is empty, is asked about another one', async () => {
  await using full = await startFull(5, { slots: 3 })
  const { gates, queue, first, second, pause } = full
  const paused = pause.begin()
  gates.open(first)
  await paused
  gates.open(second)
  await expect.poll(full.bench.current, soon).toBe(3)
  await queue(['b1'])
  pause.end()
  await expect.poll(() => gates.running().map((name) => name[0]), soon).toEqual(['a', 'a', 'b'])
})

test('a slot for which a job was claimed that fetches its files first is offered to the queue again', async () => {
  await using full = await startFull(3, { slots: 2 })
  const { gates, queue, first, second } = full
  await using slow = await openLateHost(2)
  await queue(['b1'], 10, [`${slow.url}/b.png`])
  await queue(['c1'])
  gates.open(first)
  await expect.poll(gates.running, soon).toEqual([second, 'c1'])
  gates.open(second)
  await expect.poll(gates.running, soon).toEqual([expect.not.stringMatching(`${first}|${second}`), 'c1'])
  await fetch(`${slow.url}/b.png`)
  gates.open('c1')
  await expect.poll(gates.running, soon).toContain('b1')
})

/** A runner all of whose slots the account a has; it has `jobs` of them, and those that wait have fetched their files. */
async function startFull(jobs: number, settings: Pick<BenchSettings, 'spareSlots'> & { readonly slots: number }) {
  await using stack = new AsyncDisposableStack()
  const host = stack.use(await openLateHost(jobs))
  const gates = createGates()
  const pause = createPause()
  const { wrapStore } = pause
  const bench = stack.use(await startBench({ run: gates.run, slotsPerAccount: 1, wrapStore, ...settings }))
  // A runner that pauses does not stop.
  stack.defer(pause.end)
  const queue = await createQueue(bench)
  const names = Array.from({ length: jobs }, (_, index) => `a${index + 1}`)
  await queue(names, 10, [`${host.url}/a.png`])
  await expect.poll(() => [gates.running().length, bench.current()], soon).toEqual([settings.slots, jobs])
  const [first = '', second = ''] = gates.running()
  const owned = stack.move()
  return { gates, bench, queue, pause, first, second, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** A host of a picture that answers once it was asked `times` times. */
function openLateHost(times: number) {
  const waiting: ServerResponse[] = []
  return openHost((_request, response) => {
    waiting.push(response)
    if (waiting.length >= times) for (const asked of waiting) asked.end(leaveBytes())
  })
}

/** Can make a runner pause where it asks which models have waiting jobs. */
function createPause() {
  let reached: (() => void) | null = null
  const over = Promise.withResolvers<void>()
  return {
    wrapStore: (store: Store): Store => ({
      ...store,
      async listWaitingModels() {
        const models = await store.listWaitingModels()
        if (reached) {
          reached()
          await over.promise
        }
        return models
      },
    }),
    /** Resolves when the runner pauses. */
    begin: () => new Promise<void>((resolve) => (reached = resolve)),
    end: () => over.resolve(),
  }
}

function leaveBytes(): Buffer {
  return readFileSync(join(import.meta.dirname, '../models/picture.png'))
}
