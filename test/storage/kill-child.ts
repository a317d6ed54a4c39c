// A process that starts and finishes jobs as fast as it can and says on stdout what the store acknowledged, until it is killed. Started by kill.test.ts.
import { writeSync } from 'node:fs'
import { openSqliteStore } from '../../src/storage/sqlite/open.ts'
import { startOf, testError } from './fixture.ts'

const [path = '', accountId = '', round = ''] = process.argv.slice(2)
const store = await openSqliteStore({ path })

/** The pipe may be full while the parent is busy. */
function say(line: string): void {
  try {
    writeSync(1, `${line}\n`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    say(line)
  }
}

async function startJobs(lane: number): Promise<never> {
  for (let count = 0; ; count++) {
    const result = await store.startGeneration(
      startOf(accountId, { idempotencyKey: `${round}-${lane}-${count}`, credits: 3, maxQueuedJobs: 1e9 }),
    )
    if (result.outcome !== 'created') throw new Error(result.outcome)
    say(`queued ${result.job.jobId}`)
  }
}

async function finishJobs(): Promise<never> {
  for (;;) {
    const claims = await store.claimJobs({ worker: round, room: { 'test/image': 4 }, limit: 4, leaseMs: 60_000 })
    await Promise.all(
      claims.map(async ({ job, token }, index) => {
        const ended = await store.finishJob(
          job.jobId,
          token,
          index === 0
            ? { status: 'failed', error: testError }
            : { status: 'succeeded', outputs: [], creditsActual: index },
        )
        if (ended !== null) say(`${ended.status} ${ended.jobId}`)
      }),
    )
  }
}

await Promise.all([...Array.from({ length: 16 }, (_, lane) => startJobs(lane)), finishJobs(), finishJobs()])
