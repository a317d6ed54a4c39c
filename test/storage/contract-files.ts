// The part of the store contract about files: uploads and their room, and whose time is over (P38, P39, P44).
import { takeRandomBytes } from '@mediagen/engine/random-bytes.ts'
import { expect, test } from 'vitest'
import { leastCountedBytes, type NewUpload, type Upload } from '../../src/core/files/upload.ts'
import { createIdSource } from '../../src/core/ids.ts'
import { removeExpired } from '../../src/core/jobs/retention.ts'
import type { Store } from '../../src/core/store.ts'
import { claimOne, createHeldClock, firstPage, type OpenTestStore, startJob, testAsset } from './fixture.ts'

const hourMs = 3_600_000
const room = 1_000_000

/** A store with a held clock, an account, and ids as services make them. */
async function openWithAccount(openStore: OpenTestStore) {
  const clock = createHeldClock()
  const store = await openStore(clock)
  const { accountId } = await store.createAccount('a', 100)
  const ids = createIdSource(clock.nowMs, takeRandomBytes)

  function uploadOf(fields: Partial<NewUpload> = {}): NewUpload {
    const fileId = ids.next('file')
    return {
      fileId,
      accountId,
      key: `${fileId}/0.png`,
      contentType: 'image/png',
      bytes: 100_000,
      sha256: 'ab'.repeat(32),
      retainMs: hourMs,
      ...fields,
    }
  }
  async function create(fields: Partial<NewUpload> = {}): Promise<Upload> {
    const { retainMs, ...file } = uploadOf(fields)
    const upload = { ...file, createdAtMs: clock.ms, expiresAtMs: clock.ms + retainMs }
    expect(await store.createUpload({ ...file, retainMs }, room)).toEqual({ outcome: 'created', upload })
    return upload
  }
  return { store, clock, accountId, uploadOf, create }
}

/** Ends a job well, with one output that is kept for an hour; answers with its id. */
async function makeOutput(store: Store, accountId: string): Promise<string> {
  await startJob(store, accountId, { credits: 1, retainMs: hourMs })
  const { job, token } = await claimOne(store)
  const outputs = [{ ...testAsset, key: `${job.jobId}/0.png` }]
  await store.finishJob(job.jobId, token, { status: 'succeeded', outputs, creditsActual: 1 })
  return job.jobId
}

export function uploadTests(openStore: OpenTestStore): void {
  test('are read and listed by their account alone, the newest first, until they expire', async () => {
    const { store, clock, accountId, create } = await openWithAccount(openStore)
    await using _ = store
    const other = await store.createAccount('b', 0)
    const first = await create()
    const second = await create({ retainMs: 2 * hourMs })
    const foreign = await create({ accountId: other.accountId })
    expect(await store.getUpload(accountId, first.fileId)).toEqual(first)
    expect(await store.getUpload(accountId, foreign.fileId)).toBeNull()
    expect(await store.listUploads(accountId, firstPage)).toEqual({ items: [second, first], total: 2 })
    expect(await store.listUploads(accountId, { limit: 1, offset: 1 })).toEqual({ items: [first], total: 2 })
    clock.ms = first.expiresAtMs - 1
    expect(await store.getUpload(accountId, first.fileId)).toEqual(first)
    clock.ms = first.expiresAtMs
    expect(await store.getUpload(accountId, first.fileId)).toBeNull()
    expect(await store.listUploads(accountId, firstPage)).toEqual({ items: [second], total: 1 })
  })

  test('take a limited number of bytes until they are removed; a small file counts as a larger one', async () => {
    const { store, accountId, uploadOf, create } = await openWithAccount(openStore)
    await using _ = store
    const { fileId } = await create({ bytes: room - leastCountedBytes })
    await create({ bytes: 1 })
    expect(await store.measureUploads(accountId)).toBe(room)
    expect(await store.createUpload(uploadOf({ bytes: 1 }), room)).toEqual({ outcome: 'no_room', stored: room })
    expect((await store.listUploads(accountId, firstPage)).total).toBe(2)

    await store.deleteUpload(accountId, fileId)
    // Said to be gone, and still on the disk.
    expect(await store.measureUploads(accountId)).toBe(room)
    await store.crossOff([{ folder: fileId, jobId: null }])
    expect(await store.measureUploads(accountId)).toBe(leastCountedBytes)
  })

  test('at the same time take no more room together', async () => {
    const { store, accountId, uploadOf } = await openWithAccount(openStore)
    await using _ = store
    const bytes = room / 4
    const made = await Promise.all(Array.from({ length: 10 }, () => store.createUpload(uploadOf({ bytes }), room)))
    expect(made.filter(({ outcome }) => outcome === 'created')).toHaveLength(4)
    expect(await store.measureUploads(accountId)).toBe(room)
  })

  test('of the same bytes are one where that is asked for, for half the time that they are kept', async () => {
    const { store, clock, accountId, uploadOf, create } = await openWithAccount(openStore)
    await using _ = store
    const other = await store.createAccount('b', 0)
    const reuse = (fields: Partial<NewUpload> = {}) => store.createUpload(uploadOf({ reuse: true, ...fields }), room)
    const made = await Promise.all([1, 2, 3].map(() => reuse()))
    expect(made.map(({ outcome }) => outcome).toSorted()).toEqual(['created', 'reused', 'reused'])
    const uploads = made.map((one) => (one.outcome === 'no_room' ? null : one.upload))
    expect(uploads).toEqual([uploads[0], uploads[0], uploads[0]])
    // Not asked for, of another account, of other bytes.
    const second = await create()
    expect((await reuse({ accountId: other.accountId })).outcome).toBe('created')
    expect((await reuse({ sha256: 'cd'.repeat(32) })).outcome).toBe('created')
    expect(await reuse()).toEqual({ outcome: 'reused', upload: second })
    expect(await store.measureUploads(accountId)).toBe(300_000)
    clock.ms += hourMs / 2
    expect((await reuse()).outcome).toBe('reused')
    clock.ms += 1000
    expect((await reuse()).outcome).toBe('created')
  })

  test('are deleted by their account alone, once', async () => {
    const { store, accountId, create } = await openWithAccount(openStore)
    await using _ = store
    const other = await store.createAccount('b', 0)
    const { fileId } = await create()
    expect(await store.deleteUpload(other.accountId, fileId)).toBe(false)
    expect(await store.deleteUpload(accountId, fileId)).toBe(true)
    expect(await store.deleteUpload(accountId, fileId)).toBe(false)
    expect(await store.getUpload(accountId, fileId)).toBeNull()
  })
}

export function retentionTests(openStore: OpenTestStore): void {
  test('files are due when their time is over, and stay due until they are crossed off', async () => {
    const { store, clock, accountId, create } = await openWithAccount(openStore)
    await using _ = store
    const jobId = await makeOutput(store, accountId)
    const { fileId } = await create()
    const removals = [
      { folder: jobId, jobId },
      { folder: fileId, jobId: null },
    ]
    clock.ms += hourMs
    expect([await store.hasExpired(), await store.expireFiles(10)]).toEqual([false, []])
    expect(await store.getJob(null, jobId)).toMatchObject({ outputsExpireAtMs: clock.ms, outputsGone: false })

    clock.ms += 1
    expect(await store.hasExpired()).toBe(true)
    expect(await store.expireFiles(10)).toEqual(removals)
    expect(await store.getJob(null, jobId)).toMatchObject({ status: 'succeeded', outputsGone: true })
    // A clock that goes back brings nothing back.
    clock.ms -= hourMs
    expect(await store.getUpload(accountId, fileId)).toBeNull()
    expect(await store.expireFiles(10)).toEqual(removals)

    await store.crossOff(removals)
    await store.crossOff(removals)
    expect([await store.hasExpired(), await store.expireFiles(10)]).toEqual([false, []])
    expect(await store.getJob(null, jobId)).toMatchObject({ outputsGone: true, outputs: [{ key: `${jobId}/0.png` }] })
    expect(await store.measureUploads(accountId)).toBe(0)
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('a limited number expires at a time, the oldest first', async () => {
    const { store, clock, create } = await openWithAccount(openStore)
    await using _ = store
    const late = await create({ retainMs: 2 * hourMs })
    const early = await create()
    clock.ms += 3 * hourMs
    for (const { fileId } of [early, late]) {
      const removals = await store.expireFiles(1)
      expect(removals).toEqual([{ folder: fileId, jobId: null }])
      await store.crossOff(removals)
    }
    expect(await store.hasExpired()).toBe(false)
  })

  test('a folder that cannot be removed stays due, and keeps no other from going', async () => {
    const { store, clock, create } = await openWithAccount(openStore)
    await using _ = store
    const [stuck, free] = [await create(), await create()]
    clock.ms += 2 * hourMs
    const gone: string[] = []
    const folders = {
      async remove(folder: string) {
        if (folder === stuck.fileId) throw new Error('stuck')
        gone.push(folder)
      },
    }
    expect(await removeExpired(store, folders, 10)).toEqual({
      folders: 1,
      stuck: [{ folder: stuck.fileId, error: new Error('stuck') }],
    })
    expect(gone).toEqual([free.fileId])
    const due = [{ folder: stuck.fileId, jobId: null }]
    expect([await store.hasExpired(), await store.expireFiles(10)], 'not before an hour, as it is one overdue').toEqual(
      [false, []],
    )
    clock.ms += hourMs
    expect([await store.hasExpired(), await store.expireFiles(10)]).toEqual([true, due])
    await store.putOff(due)
    await store.retryRemovals()
    expect(await store.expireFiles(10), 'an operator need not wait').toEqual(due)
  })

  test('however many folders cannot be removed, the others go', async () => {
    const { store, clock, accountId, create } = await openWithAccount(openStore)
    await using _ = store
    const stuck = new Set<string>()
    for (let i = 0; i < 6; i++) stuck.add((await create({ bytes: 1 })).fileId).add(await makeOutput(store, accountId))
    clock.ms += 1000
    const free = [await makeOutput(store, accountId), (await create()).fileId]
    clock.ms += 2 * hourMs
    const gone: string[] = []
    const tried: string[] = []
    const remove = async (folder: string) => {
      tried.push(folder)
      if (stuck.has(folder)) throw new Error('stuck')
      gone.push(folder)
    }
    while (await store.hasExpired()) await removeExpired(store, { remove }, 2)
    expect(gone.toSorted()).toEqual(free.toSorted())
    expect(tried).toHaveLength(stuck.size + free.length)
  })

  test('a folder belongs to the upload or to the run that it is of, and to nothing when no record names it', async () => {
    const { store, clock, accountId, create } = await openWithAccount(openStore)
    await using _ = store
    const { fileId } = await create()
    const done = await makeOutput(store, accountId)
    await startJob(store, accountId, { credits: 1 })
    const running = (await claimOne(store)).job.jobId
    const folders = [
      fileId,
      done,
      `${done}-2`,
      running,
      `${running}-2`,
      `${running}-2-1`,
      fileId.replace('file', 'job'),
    ]
    const owners = async () => Object.fromEntries(await store.findOwners(folders))
    const outputs = { accountId, kind: 'outputs' }
    const active = { [running]: outputs, [`${running}-2`]: outputs, [`${running}-2-1`]: outputs }
    expect(await owners()).toEqual({ [fileId]: { accountId, kind: 'uploads' }, [done]: outputs, ...active })
    clock.ms += hourMs + 1
    const expired = { accountId, kind: 'expired' }
    expect(await owners()).toEqual({ [fileId]: expired, [done]: expired, ...active })
    const removals = await store.expireFiles(10)
    expect(await owners()).toEqual({ [fileId]: expired, [done]: expired, ...active })
    // Should a power cut bring them back, they are swept as what a crash left.
    await store.crossOff(removals)
    expect(await owners()).toEqual(active)
  })
}
