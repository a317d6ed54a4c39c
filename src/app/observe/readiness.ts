// Whether this server can do its work now: the database takes changes, starts among them, and the store of files takes files.
import { Readable } from 'node:stream'
import { isDatabaseTrouble } from '../../core/storage-trouble.ts'
import type { Store } from '../../core/store.ts'
import type { Blobs } from '../../files/blobs/blobs.ts'
import { createReadiness } from '../../gateway/routes/health.ts'
import { within } from '../../storage/storage-error.ts'

// A small test change may succeed although starts fail, for example on a full disk. So a failed start counts for this long.
const startCountsMs = 30_000
const fileMs = 2000
// Object stores take money for each request.
const fileCountsMs = 5000
/** Written and deleted; equal in all processes, so that none is left behind for long. */
const probeKey = 'check/ready.txt'

/** Starts, and why the last of them met trouble. */
export interface WatchedStarts extends Pick<Store, 'startGeneration'> {
  trouble(): Error | null
}

/** Watches the outcomes of starts. */
export function watchStarts(
  store: Pick<Store, 'startGeneration'>,
  monotonicMs = () => performance.now(),
): WatchedStarts {
  let failed: { readonly error: Error; readonly atMs: number } | null = null
  return {
    async startGeneration(command) {
      try {
        const outcome = await store.startGeneration(command)
        failed = null
        return outcome
      } catch (error) {
        if (error instanceof Error && isDatabaseTrouble(error)) failed = { error, atMs: monotonicMs() }
        throw error
      }
    },
    trouble: () => (failed !== null && monotonicMs() - failed.atMs < startCountsMs ? failed.error : null),
  }
}

/** Creates a function that says why this server cannot do its work, in words; null when it can. */
export function createTroubleFinder(
  store: Pick<Store, 'check'>,
  starts: Pick<WatchedStarts, 'trouble'>,
  blobs: Pick<Blobs, 'put' | 'delete'>,
): () => Promise<string | null> {
  async function tryDatabase(): Promise<void> {
    await store.check()
    const trouble = starts.trouble()
    if (trouble !== null) throw trouble
  }
  async function writeFile(): Promise<void> {
    await blobs.put(probeKey, Readable.from([Buffer.from('mediagen')]), { patienceMs: 0 })
    await blobs.delete([probeKey])
  }
  const tryFiles = createReadiness(() => describe('files cannot be stored', within(fileMs, writeFile())), fileCountsMs)
  return async () => (await describe('the database cannot be written', tryDatabase())) ?? (await tryFiles())
}

/** @param what is wrong if it fails */
async function describe(what: string, work: Promise<void>): Promise<string | null> {
  return work.then(
    () => null,
    (error: unknown) => `${what}: ${(error as Error).message}`,
  )
}
