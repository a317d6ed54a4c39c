// The part of the store contract about jobs with a label, and about what makes a job again (P362, P370).
import { expect, test } from 'vitest'
import type { JobFilter, Store } from '../../src/core/store.ts'
import { claimOne, filterOf, type OpenTestStore, startJob, testAsset, testError } from './fixture.ts'

const label = { name: 'team', value: 'ads' }

async function read(store: Store, accountId: string, fields: Partial<JobFilter> = {}) {
  const { items, total } = await store.listJobs(filterOf(accountId, { label, ...fields }))
  return { ids: items.map(({ jobId }) => jobId), total }
}

async function end(store: Store, succeeds = true, model?: string) {
  const { job, token } = await claimOne(store, model)
  const ended = succeeds
    ? ({ status: 'succeeded', outputs: [testAsset], creditsActual: 1 } as const)
    : ({ status: 'failed', error: testError } as const)
  await store.finishJob(job.jobId, token, ended)
}

export function labelTests(openStore: OpenTestStore): void {
  test('are listed by it, the newest first, in pages, with the other filters', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    const { accountId: other } = await store.createAccount('b', 1000)
    await startJob(store, other, { labels: { team: 'ads' } })
    const jobs: string[] = []
    for (let count = 0; count < 6; count++) {
      const more = count % 2 === 0 ? {} : { model: 'test/other', input: { prompt: 'a fox' } }
      const { jobId } = await startJob(store, accountId, { labels: { team: 'ads', n: String(count) }, ...more })
      jobs.unshift(jobId)
      await startJob(store, accountId, { labels: { team: 'art' } })
      await startJob(store, accountId, { labels: { note: 'ads' } })
    }
    const others = jobs.filter((_, index) => index % 2 === 0)
    expect(await read(store, accountId)).toEqual({ ids: jobs, total: 6 })
    expect(await read(store, accountId, { limit: 2, offset: 3 })).toEqual({ ids: jobs.slice(3, 5), total: 6 })
    expect(await read(store, accountId, { offset: 6 })).toEqual({ ids: [], total: 6 })
    expect(await read(store, accountId, { label: { name: 'team', value: 'Ads' } })).toEqual({ ids: [], total: 0 })
    expect(await read(store, accountId, { model: 'test/other' })).toEqual({ ids: others, total: 3 })
    expect(await read(store, accountId, { model: 'test/other', limit: 1, offset: 1 })).toEqual({
      ids: others.slice(1, 2),
      total: 3,
    })
    expect(await read(store, accountId, { search: 'FOX', limit: 2 })).toEqual({ ids: others.slice(0, 2), total: 3 })
    await end(store, true, 'test/other')
    await end(store, false, 'test/other')
    const [succeeded, failed] = [others.at(-1), others.at(-2)]
    expect(await read(store, accountId, { status: 'succeeded' })).toEqual({ ids: [succeeded], total: 1 })
    expect(await read(store, accountId, { status: 'failed' })).toEqual({ ids: [failed], total: 1 })
    expect((await read(store, accountId, { status: 'queued' })).total).toBe(4)
    expect((await store.listJobs(filterOf(accountId, { label: null }))).total).toBe(18)
  })

  test('are no longer listed by it when their owner has deleted them', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    const { jobId } = await startJob(store, accountId, { labels: { team: 'ads' } })
    const { jobId: kept } = await startJob(store, accountId, { labels: { team: 'ads' } })
    await end(store)
    await end(store)
    expect((await store.deleteJob(accountId, jobId)).outcome).toBe('deleted')
    expect(await read(store, accountId)).toEqual({ ids: [kept], total: 1 })
    expect((await store.getJob(accountId, jobId))?.labels).toEqual({ team: 'ads' })
  })

  test('what a start added to its input is kept with it, and is in the input of each run', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    const [input, additions] = [
      { prompt: 'x', steps: [{}] },
      { '/seed': 7, '/steps/0/size': 'big' },
    ]
    const { jobId } = await startJob(store, accountId, { input, additions })
    const whole = { prompt: 'x', seed: 7, steps: [{ size: 'big' }] }
    expect(await store.getInput(jobId)).toEqual({ input, additions })
    const first = await claimOne(store)
    expect(first.input).toEqual(whole)
    await store.finishJob(jobId, first.token, { status: 'queued' })
    const { input: again, token, job } = await claimOne(store)
    expect([again, job.madeBy]).toEqual([whole, null])
    const madeBy = { version: '2', engine: 'fal', model: 'fal-ai/flux' }
    const outcome = { status: 'succeeded', outputs: [testAsset], creditsActual: 1, madeBy } as const
    expect((await store.finishJob(jobId, token, outcome))?.madeBy).toEqual(madeBy)
    expect((await store.getJob(accountId, jobId))?.madeBy).toEqual(madeBy)
    expect(await store.listBriefInputs(accountId, [jobId])).toEqual(new Map([[jobId, input]]))
  })
}
