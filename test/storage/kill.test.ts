// What was acknowledged survives kill -9 in the middle of the work, and the ledger is whole.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { openSqliteStore } from '../../src/storage/sqlite/open.ts'
import { createTestFolder } from './sqlite-fixture.ts'

const script = new URL('./kill-child.ts', import.meta.url).pathname

/** Runs the child until it has acknowledged so much, kills it, and returns the last that was said of each job. */
async function acknowledgedBeforeKill(
  path: string,
  accountId: string,
  round: number,
  enough: number,
): Promise<Map<string, string>> {
  const child = spawn(process.execPath, [script, path, accountId, `round${round}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const said = new Map<string, string>()
  let lines = 0
  for await (const line of createInterface({ input: child.stdout })) {
    const [status = '', jobId = ''] = line.split(' ')
    // The end of a job may be said before its start: both were acknowledged, the end is the later.
    if (status !== 'queued' || !said.has(jobId)) said.set(jobId, status)
    if ((lines += 1) === enough) child.kill('SIGKILL')
  }
  expect(await ended).toEqual([null, 'SIGKILL'])
  return said
}

test('kill -9 loses nothing that was acknowledged', async () => {
  using file = createTestFolder()
  let accountId: string
  {
    await using store = await openSqliteStore({ path: file.path })
    accountId = (await store.createAccount('a', 1e9)).accountId
  }
  for (const [round, enough] of [50, 700, 2500].entries()) {
    const said = await acknowledgedBeforeKill(file.path, accountId, round, enough)
    expect(said.size).toBeGreaterThan(10)
    await using store = await openSqliteStore({ path: file.path })
    for (const [jobId, status] of said) {
      const job = await store.getJob(accountId, jobId)
      if (status === 'queued') expect(job).not.toBeNull()
      else expect(job).toMatchObject({ jobId, status })
    }
    expect((await store.verifyLedger()).problems).toEqual([])
  }
})
