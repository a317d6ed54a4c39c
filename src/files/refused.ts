// The files of paid runs that cannot be served, which wait for the operator in a folder of the worker that ran them.
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Clock } from '../core/clock.ts'
import { isId } from '../core/ids.ts'
import { jobOfFolder } from '../core/jobs/retention.ts'
import { createRound } from '../core/round.ts'
import type { Store } from '../core/store.ts'

const lookMs = 3_600_000

export interface RefusedDeps {
  /** Has a folder for each run; it need not exist. */
  readonly folder: string
  readonly store: Pick<Store, 'getJob'>
  /** How long files are kept after the review of their job. */
  readonly retainMs: number
  readonly clock: Clock
}

/** Removes the files of jobs whose review was over so long ago, or whose owner deleted them; returns the number of runs. */
export async function removeRefused(deps: RefusedDeps): Promise<number> {
  const { folder } = deps
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  let removed = 0
  for (const name of names) {
    if (!isId('job', jobOfFolder(name)) || !(await isOver(name, deps))) continue
    await rm(join(folder, name), { recursive: true, force: true })
    removed += 1
  }
  return removed
}

/** Looks now and every hour, until it is stopped. */
export function startRefusedRemoval(deps: RefusedDeps, log: Logger): { stop(): Promise<void> } {
  const round = createRound(
    async () => {
      const runs = await removeRefused(deps)
      if (runs > 0) log.info({ runs }, 'refused files of reviews that are over were removed')
    },
    (error) => log.error({ err: error }, 'refused files could not be removed'),
  )
  const timer = setInterval(() => round.again(), lookMs)
  round.again()
  return {
    async stop() {
      clearInterval(timer)
      await round.settled()
    },
  }
}

async function isOver(name: string, { folder, store, retainMs, clock }: RefusedDeps): Promise<boolean> {
  const job = await store.getJob(null, jobOfFolder(name))
  // Its record is gone, or the database is an older one that was restored.
  if (job === null) return clock.nowMs() - (await stat(join(folder, name))).mtimeMs > retainMs
  if (job.deletedAtMs !== null) return true
  const isOpen = job.finishedAtMs === null || job.status === 'needs_review'
  return !isOpen && clock.nowMs() - job.finishedAtMs > retainMs
}
