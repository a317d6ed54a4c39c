// P294: jobs that ended before there was usage are in it after the migration, and what the ledger says of forgotten ones.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { StartCommand } from '../../src/core/store.ts'
import { isPostgres, openStoreOf, tamper } from '../test-store.ts'
import { claimOne, createHeldClock, startJob, testError } from './fixture.ts'
import { createTestFolder } from './sqlite-fixture.ts'
import { usageOf } from './usage-sums.ts'

const store = isPostgres ? 'postgres' : 'sqlite'
const migration = readFileSync(
  join(import.meta.dirname, `../../src/storage/${store}/migrations/0007-usage.sql`),
  'utf8',
)
/** The last statement of the migration. */
const rollUp = migration.slice(migration.lastIndexOf('INSERT INTO usage'))

const dayMs = 86_400_000

test.each([false, true])(
  'the migration rolls up what has ended, and the entries of forgotten jobs: %s',
  async (forgets) => {
    using place = createTestFolder()
    const clock = createHeldClock()
    let accountId = ''
    const read = async () => {
      await using opened = await openStoreOf(place.folder)
      expect((await opened.verifyLedger()).problems).toEqual([])
      return await opened.listUsage(usageOf(accountId, ['day', 'model', 'key', 'label:team']))
    }
    {
      await using opened = await openStoreOf(place.folder, clock)
      accountId = (await opened.createAccount('a', 1000)).accountId
      const end = async (charge: number | null, fields: Partial<StartCommand>) => {
        await startJob(opened, accountId, { retainMs: null, ...fields })
        const { job, token } = await claimOne(opened)
        const how =
          charge === null
            ? ({ status: 'failed', error: testError } as const)
            : ({ status: 'succeeded', outputs: [], creditsActual: charge } as const)
        await opened.finishJob(job.jobId, token, how)
      }
      await end(4, { keyId: 'key_old' })
      await end(null, { keyId: 'key_old' })
      clock.ms += 31 * dayMs
      await end(5, { labels: { team: 'art' } })
      await end(6, { labels: { team: 'art' } })
      await end(0, { timeZone: 'Pacific/Kiritimati' })
      await startJob(opened, accountId)
      if (forgets)
        expect(await opened.forgetJobs({ keepMs: 30 * dayMs, after: 0, limit: 10 })).toMatchObject({ jobs: 2 })
    }
    const before = await read()
    expect(before.sum).toEqual({ jobs: 5, succeeded: 4, charged: 15 })
    await tamper(place.folder, `DELETE FROM usage; ${rollUp}`)
    const [old, ...others] = before.items
    // The model of a job that is forgotten is not known any more.
    expect(await read()).toEqual({ ...before, items: [{ ...old, model: forgets ? '' : old?.model }, ...others] })
  },
)
