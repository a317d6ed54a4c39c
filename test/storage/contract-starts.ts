// The part of the store contract about starting generations, listing jobs, hearing of changes and closing.
// P48, P57, P68, P92, P93, P94, P95, P98, P281, P283.
import { expect, test } from 'vitest'
import { systemActor } from '../../src/core/accounts/audit.ts'
import { balanceOf, claimOne, digestOf, entriesOf, filterOf, startJob, startOf, type OpenTestStore } from './fixture.ts'

export function startTests(openStore: OpenTestStore): void {
  test('a start holds the credits and queues the job', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 25)
    const job = await startJob(store, accountId, { idempotencyKey: 'k' })
    expect(job).toMatchObject({
      accountId,
      status: 'queued',
      model: 'test/image',
      quoteId: 'quote_test',
      progress: 0,
      attempts: 0,
      sequence: 1,
    })
    expect(job).toMatchObject({
      creditsHeld: 10,
      creditsCharged: 0,
      creditsReleased: 0,
      outputs: [],
      error: null,
      startedAtMs: null,
      finishedAtMs: null,
      cancelRequested: false,
    })
    expect(job.jobId).toMatch(/^job_/)
    expect(await store.getJob(accountId, job.jobId)).toEqual(job)
    expect(await store.getJob(null, job.jobId)).toEqual(job)
    expect(await store.findStartedJob(accountId, 'k')).toEqual({ job, requestDigest: digestOf('the request') })
    expect(await balanceOf(store, accountId)).toEqual([15, 10])
    const { items } = await store.listEntries(accountId, { limit: 1, offset: 0 })
    expect(items).toMatchObject([{ kind: 'hold', credits: 10, availableAfter: 15, heldAfter: 10, jobId: job.jobId }])
  })

  test('the same start again answers with the job as it is now; another with its key is refused', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 25)
    const command = startOf(accountId)
    await store.startGeneration(command)
    const { job } = await claimOne(store)
    expect(await store.startGeneration(command)).toEqual({ outcome: 'replayed', job })
    expect(await store.startGeneration({ ...command, requestDigest: digestOf('another') })).toEqual({
      outcome: 'key_reused',
    })
    expect(await balanceOf(store, accountId)).toEqual([15, 10])
  })

  test('a job keeps the labels of its first start', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 100)
    const labels = { team: 'ads', 'cost.centre-1': 'Zürich, "9" 🎨', constructor: 'x' }
    const bare = await startJob(store, accountId)
    const command = startOf(accountId, { labels })
    const started = await store.startGeneration(command)
    expect(started).toMatchObject({ outcome: 'created', job: { labels } })
    const job = 'job' in started ? started.job : bare
    expect(await store.getJob(accountId, job.jobId)).toEqual(job)
    expect((await store.listJobs(filterOf(accountId))).items.map((one) => one.labels)).toEqual([labels, {}])
    expect(await store.startGeneration({ ...command, labels: { team: 'art', proxy: 'x' } })).toEqual({
      outcome: 'replayed',
      job,
    })
    await claimOne(store)
    const { job: claimed, token } = await claimOne(store)
    expect(claimed).toMatchObject({ jobId: job.jobId, labels })
    const end = { status: 'succeeded', outputs: [], creditsActual: 1 } as const
    expect(await store.finishJob(job.jobId, token, end)).toMatchObject({ status: 'succeeded', labels })
    expect((await store.inspectJob(bare.jobId))?.job.labels).toEqual({})
  })

  test('a replay is seen before the balance and the limit of queued jobs', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 10)
    const command = startOf(accountId, { maxQueuedJobs: 1 })
    expect((await store.startGeneration(command)).outcome).toBe('created')
    expect((await store.startGeneration(command)).outcome).toBe('replayed')
  })

  test('a refusal leaves the key free', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 9)
    const command = startOf(accountId)
    expect(await store.startGeneration(command)).toEqual({ outcome: 'no_credits', available: 9 })
    expect(await store.findStartedJob(accountId, command.idempotencyKey)).toBeNull()
    await store.grantCredits(accountId, 1, null)
    expect((await store.startGeneration(command)).outcome).toBe('created')
  })

  test('queued jobs are limited; running ones do not count', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 100)
    await startJob(store, accountId)
    await startJob(store, accountId)
    const third = startOf(accountId, { maxQueuedJobs: 2 })
    expect(await store.startGeneration(third)).toEqual({ outcome: 'too_many_jobs', queued: 2 })
    const { job, token } = await claimOne(store)
    expect((await store.startGeneration(third)).outcome).toBe('created')
    await store.finishJob(job.jobId, token, { status: 'queued' })
    expect(await store.startGeneration(startOf(accountId, { maxQueuedJobs: 3 }))).toEqual({
      outcome: 'too_many_jobs',
      queued: 3,
    })
  })

  test('a free job moves no credits and writes no entry', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    await startJob(store, accountId, { credits: 0 })
    const { job, token } = await claimOne(store)
    expect(
      await store.finishJob(job.jobId, token, { status: 'succeeded', outputs: [], creditsActual: 3 }),
    ).toMatchObject({ creditsCharged: 0, creditsReleased: 0 })
    expect(await entriesOf(store, accountId)).toEqual([])
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('a hundred parallel starts with one key make one job', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    const results = await Promise.all(
      Array.from({ length: 100 }, () => store.startGeneration(startOf(accountId, { idempotencyKey: 'same' }))),
    )
    expect(results.filter(({ outcome }) => outcome === 'created')).toHaveLength(1)
    expect(results.filter(({ outcome }) => outcome === 'replayed')).toHaveLength(99)
    expect(new Set(results.map((result) => ('job' in result ? result.job.jobId : ''))).size).toBe(1)
    expect(await balanceOf(store, accountId)).toEqual([990, 10])
  })

  test('parallel spending never overdraws', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 55)
    const results = await Promise.all(Array.from({ length: 40 }, () => store.startGeneration(startOf(accountId))))
    expect(results.filter(({ outcome }) => outcome === 'created')).toHaveLength(5)
    for (const result of results)
      if (result.outcome !== 'created') expect(result).toEqual({ outcome: 'no_credits', available: 5 })
    expect(await balanceOf(store, accountId)).toEqual([5, 50])
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('starts that are requested at once are decided one after the other, and refusals leave the rest alone', async () => {
    await using store = await openStore()
    const rich = (await store.createAccount('rich', 1000)).accountId
    const poor = (await store.createAccount('poor', 15)).accountId
    const late = (await store.createAccount('late', 10)).accountId
    const commands = [
      startOf(rich, { idempotencyKey: 'a', model: 'test/one' }),
      startOf(poor, { idempotencyKey: 'a', model: 'test/one' }),
      startOf(rich, { idempotencyKey: 'a', requestDigest: digestOf('another') }),
      startOf(rich, { idempotencyKey: 'b', model: 'test/two', credits: 0 }),
      startOf(poor, { idempotencyKey: 'b' }),
      startOf(rich, { idempotencyKey: 'a', model: 'test/one' }),
      startOf(rich, { idempotencyKey: 'c', maxQueuedJobs: 2 }),
      startOf(poor, { idempotencyKey: 'c', credits: 5 }),
      startOf(rich, { idempotencyKey: 'd', model: 'test/one' }),
      startOf(late, { idempotencyKey: 'a', model: 'test/one' }),
    ]
    const results = await Promise.all(commands.map(store.startGeneration))
    const outcomes = ['created', 'created', 'key_reused', 'created', 'no_credits', 'replayed', 'too_many_jobs']
    expect(results.map(({ outcome }) => outcome)).toEqual([...outcomes, 'created', 'created', 'created'])
    expect(results[4]).toEqual({ outcome: 'no_credits', available: 5 })
    expect(results[6]).toEqual({ outcome: 'too_many_jobs', queued: 2 })
    const [first, second, , free, , replay, , fifth, last, other] = results.map((result) =>
      'job' in result ? result.job : null,
    )
    expect(replay).toEqual(first)
    const made = [first, second, free, fifth, last, other].map((job) => job?.jobId ?? '')
    expect(made).toEqual(made.toSorted())
    expect((await store.listJobs(filterOf(rich))).items).toEqual([last, free, first])
    expect((await store.listJobs(filterOf(poor))).items).toEqual([fifth, second])
    expect([await balanceOf(store, rich), await balanceOf(store, poor)]).toEqual([
      [980, 20],
      [0, 15],
    ])
    const { items: entries } = await store.listEntries(rich, { limit: 10, offset: 0 })
    expect(entries.map(({ jobId }) => jobId)).toEqual([last?.jobId, first?.jobId, null])
    expect((await store.verifyLedger()).problems).toEqual([])
    // The share of the account has moved on with its first job, so its second one comes after all others.
    for (const next of [first, second, other, last])
      expect((await claimOne(store, 'test/one')).job.jobId).toBe(next?.jobId)
  })

  test('P290: what fails among starts and grants that are requested at once leaves the chains of their accounts whole', async () => {
    await using store = await openStore()
    const ids: string[] = []
    for (const name of 'abc') ids.push((await store.createAccount(name, 1000)).accountId)
    for (let round = 0; round < 3; round += 1) {
      const commands = Array.from({ length: 24 }, (_, index) => {
        const accountId = ids[index % 3] ?? ''
        if (index % 8 === 4) return store.grantCredits(accountId, 2, null, systemActor, `pay_${round}_${index}`)
        // In later rounds the database refuses some, in the middle of the group and at its end.
        const isWrong = round > 0 && index % 6 === 5
        return store.startGeneration(startOf(accountId, isWrong ? { maxAttempts: 0 } : {}))
      })
      const settled = await Promise.allSettled(commands)
      expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(round > 0 ? 4 : 0)
    }
    for (const accountId of ids) await startJob(store, accountId)
    const { problems, entries } = await store.verifyLedger()
    expect([problems, entries]).toEqual([[], 3 + 24 + 2 * 20 + 3])
  })

  test('jobs of another account are not visible', async () => {
    await using store = await openStore()
    const a = await store.createAccount('a', 100)
    const b = await store.createAccount('b', 100)
    const job = await startJob(store, a.accountId, { idempotencyKey: 'k' })
    expect(await store.getJob(b.accountId, job.jobId)).toBeNull()
    expect(await store.requestCancel(b.accountId, job.jobId)).toBeNull()
    expect(await store.findStartedJob(b.accountId, 'k')).toBeNull()
    expect(await store.listJobs(filterOf(b.accountId))).toEqual({ items: [], total: 0 })
    expect((await store.startGeneration(startOf(b.accountId, { idempotencyKey: 'k' }))).outcome).toBe('created')
    await expect(store.startGeneration(startOf('acct_nobody'))).rejects.toThrow('acct_nobody')
  })

  test('an input of a megabyte comes back whole, unicode and all', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 10)
    const input = { prompt: '🌊 é\u0000"\\'.repeat(100_000), list: [1, null, 1.5, true, { deep: 'x' }] }
    await startJob(store, accountId, { input })
    expect((await claimOne(store)).input).toEqual(input)
  })

  test('jobs are listed newest first, filtered and counted exactly', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    const made: string[] = []
    for (let i = 0; i < 6; i++)
      made.push(
        (await startJob(store, accountId, { model: i % 2 === 0 ? 'even' : 'odd', idempotencyKey: `k${i}` })).jobId,
      )
    const first = await claimOne(store, 'even')
    await store.finishJob(first.job.jobId, first.token, { status: 'succeeded', outputs: [], creditsActual: 10 })
    await claimOne(store, 'even')
    await store.requestCancel(accountId, made[1] ?? '')
    const list = async (fields: Parameters<typeof filterOf>[1]) => {
      const { items, total } = await store.listJobs(filterOf(accountId, fields))
      return [items.map((job) => made.indexOf(job.jobId)), total]
    }
    expect(await list({})).toEqual([[5, 4, 3, 2, 1, 0], 6])
    expect(await list({ limit: 2, offset: 1 })).toEqual([[4, 3], 6])
    expect(await list({ offset: 10 })).toEqual([[], 6])
    expect(await list({ model: 'odd' })).toEqual([[5, 3, 1], 3])
    expect(await list({ status: 'queued', limit: 1 })).toEqual([[5], 3])
    expect(await list({ status: 'running' })).toEqual([[2], 1])
    expect(await list({ status: 'succeeded' })).toEqual([[0], 1])
    expect(await list({ status: 'succeeded', model: 'even' })).toEqual([[0], 1])
    expect(await list({ status: 'succeeded', model: 'odd' })).toEqual([[], 0])
    expect(await list({ status: 'canceled', model: 'odd' })).toEqual([[1], 1])
    expect(await list({ idempotencyKey: 'k3' })).toEqual([[3], 1])
    expect(await list({ idempotencyKey: 'k3', status: 'succeeded' })).toEqual([[], 0])
    expect(await list({ idempotencyKey: 'none' })).toEqual([[], 0])
  })
}

export function changeTests(openStore: OpenTestStore): void {
  test('listeners hear which jobs changed, once for a group and only after it is readable', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    const received: (readonly string[])[] = []
    const readable: Promise<unknown>[] = []
    const stop = store.onNotification((jobs) => {
      received.push((jobs ?? []).map(({ jobId }) => jobId))
      for (const { jobId } of jobs ?? []) readable.push(store.getJob(null, jobId))
    })
    const jobs = await Promise.all([startJob(store, accountId), startJob(store, accountId), startJob(store, accountId)])
    expect(received).toEqual([jobs.map((job) => job.jobId)])
    expect(await Promise.all(readable)).toEqual(jobs)
    const [first] = jobs
    await store.requestCancel(accountId, first?.jobId ?? '')
    await store.requestCancel(accountId, first?.jobId ?? '')
    await store.startGeneration(startOf(accountId, { credits: 10_000 }))
    expect(received.slice(1)).toEqual([[first?.jobId]])
    stop()
    await startJob(store, accountId)
    expect(received).toHaveLength(2)
  })

  test('the notification of the end of a job carries its record', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    const { jobId } = await startJob(store, accountId)
    const { promise: notified, resolve } = Promise.withResolvers<unknown>()
    store.onNotification((jobs) => resolve(jobs?.[0]))
    await store.requestCancel(accountId, jobId)
    expect(await notified).toEqual({ jobId, job: await store.getJob(accountId, jobId), queued: false })
  })

  test('sequences are read of the jobs that there are', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    const [first, second] = [await startJob(store, accountId), await startJob(store, accountId)]
    await store.requestCancel(accountId, second.jobId)
    const sequences = await store.readSequences([first.jobId, second.jobId, 'job_none'])
    expect(Object.fromEntries(sequences)).toEqual({ [first.jobId]: 1, [second.jobId]: 2 })
  })

  test.each([
    ['cafe\u0301', 'CAF\u00C9'],
    ['un caf\u00E9 noir', 'CAFE\u0301'],
    ['Stra\u00DFe', 'STRASSE'],
    ['\u039F\u0394\u039F\u03A3', '\u03BF\u03B4\u03BF\u03C2'],
    ['\u039F\u0394\u039F\u03A3\u0391', '\u03BF\u03B4\u03BF\u03C2'],
    ['\u0130stanbul', 'i\u0307STANBUL'],
    ['\u1E9B\u0323', '\u1E9B\u0323'],
    ['\uAC01', '\u1100\u1161\u11A8'],
  ])('P208: %j is found by %j, whatever the case and the way to write an accent', async (prompt, search) => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    const { jobId } = await startJob(store, accountId, { input: { nested: [{ prompt }], other: 1 } })
    await startJob(store, accountId, { input: { prompt: 'tea' } })
    expect(await store.listJobs(filterOf(accountId, { search }))).toMatchObject({ items: [{ jobId }], total: 1 })
    expect(await store.listJobs(filterOf(accountId, { search: `${search}!` }))).toEqual({ items: [], total: 0 })
  })

  test('P209: a search finds what other filters leave, pages like any list, and lets other accounts read meanwhile', async () => {
    await using store = await openStore()
    const [account, other] = [await store.createAccount('a', 100_000), await store.createAccount('b', 1000)]
    const { accountId } = account
    const starting: Promise<void>[] = []
    await startJob(store, other.accountId, { input: { prompt: 'a fox' } })
    // What each job is, by its id: whether it has the text, and whether it is of the first model.
    const kinds = new Map<string, { fox: boolean; first: boolean }>()
    for (let n = 0; n < 1100; n += 1) {
      const kind = { fox: n % 100 === 0, first: n % 200 === 0 }
      const input = { prompt: kind.fox ? `a fox ${n}` : 'a boat' }
      const model = kind.first ? 'test/a' : 'test/b'
      const started = startJob(store, accountId, { input, model, credits: 1, maxQueuedJobs: 2000 })
      starting.push(started.then(({ jobId }) => void kinds.set(jobId, kind)))
    }
    await Promise.all(starting)
    const listed = [0, 500, 1000].map(async (offset) => store.listJobs(filterOf(accountId, { limit: 500, offset })))
    const all = (await Promise.all(listed)).flatMap(({ items }) => items.map(({ jobId }) => jobId))
    const foxes = all.filter((jobId) => kinds.get(jobId)?.fox)
    await store.requestCancel(accountId, foxes[1] ?? '')
    const search = async (fields: object) => {
      const { items, total } = await store.listJobs(filterOf(accountId, { search: 'FOX', ...fields }))
      return { ids: items.map(({ jobId }) => jobId), total }
    }
    expect(await search({})).toEqual({ ids: foxes, total: 11 })
    expect(await search({ limit: 3, offset: 4 })).toEqual({ ids: foxes.slice(4, 7), total: 11 })
    expect(await search({ limit: 3, offset: 11 })).toEqual({ ids: [], total: 11 })
    expect(await search({ status: 'canceled' })).toEqual({ ids: [foxes[1]], total: 1 })
    const ofSecond = foxes.filter((jobId, n) => n !== 1 && kinds.get(jobId)?.first === false)
    expect(await search({ status: 'queued', model: 'test/b' })).toEqual({ ids: ofSecond, total: ofSecond.length })
    expect((await store.listJobs({ ...filterOf(accountId, { search: 'fox' }), accountId: null })).total).toBe(12)
    await store.deleteJob(accountId, foxes[1] ?? '')
    expect((await search({})).total).toBe(10)

    // Connections are made before it counts.
    const listOther = () => store.listJobs(filterOf(other.accountId))
    await Promise.all(Array.from({ length: 10 }, listOther))
    const order: string[] = []
    const searches = Array.from({ length: 10 }, () => search({}).then(() => order.push('search')))
    await listOther().then(() => order.push('list of another'))
    await Promise.all(searches)
    expect(order.at(-1)).toBe('search')
  })

  test('closing finishes submitted commands and refuses later ones', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    const submitted = Array.from({ length: 20 }, () => store.startGeneration(startOf(accountId)))
    await store.close()
    for (const { outcome } of await Promise.all(submitted)) expect(outcome).toBe('created')
    await expect(store.startGeneration(startOf(accountId))).rejects.toThrow('closed')
    await expect(store.getAccount(accountId)).rejects.toThrow()
    await store.close()
  })
}
