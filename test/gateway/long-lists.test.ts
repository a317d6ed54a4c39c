// A list that takes too long to read is ended, and the answer says so: on PostgreSQL, which would read on for nobody (P172).
import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { openForeignClient } from '../rpc/foreign-client.ts'
import { useServer } from '../storage/postgres-fixture.ts'
import { hasPostgres, runSql } from '../storage/postgres-server.ts'
import { startTestApp } from '../test-app.ts'
import { expectProblem } from './problem.ts'

const words = /^This list takes too long to read .*\b9 s\b.* Narrow it: .*smaller offset.* filter .*status.* model/

/** Keeps every list of jobs waiting. */
async function holdJobs(url: string) {
  const client = new Client(url)
  await client.connect()
  await client.query('BEGIN; LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE')
  return { [Symbol.asyncDispose]: () => client.end() }
}

/** Ends the list that waits until it is answered, as the server does by itself when the time of the list is over. */
async function endList<Answer>(url: string, asked: Promise<Answer>): Promise<Answer> {
  const end = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'SELECT page.*%'`
  let isAnswered = false
  const answer = asked.finally(() => (isAnswered = true))
  const endAll = async (): Promise<boolean> => {
    if (!isAnswered) await runSql(url, end)
    return isAnswered
  }
  await expect.poll(endAll, { interval: 20 }).toBe(true)
  return answer
}

describe.skipIf(!hasPostgres)('with a PostgreSQL', () => {
  const { createDatabase } = useServer()

  test('a list that takes too long is refused in words that say how to narrow it, over REST and gRPC', async () => {
    const url = await createDatabase()
    await using app = await startTestApp({ MEDIAGEN_DATABASE_URL: url, MEDIAGEN_ROLES: 'api' })
    using client = await openForeignClient(app.app.grpcUrl, app.account.key)
    {
      await using _held = await holdJobs(url)
      const answer = await endList(url, app.send('/v1/jobs?offset=1000'))
      expectProblem(answer, app.url, 'overloaded')
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      expect(answer.body).toMatchObject({ detail: expect.stringMatching(words), retryable: true })

      const refusal = await endList(url, client.refusal('GenerationService/ListJobs', { offset: 1000 }))
      expect(refusal).toMatchObject({ status: 'UNAVAILABLE', detail: { code: 'overloaded', retryable: true } })
      expect(refusal.message.replace('overloaded: ', '')).toMatch(words)
    }
    expect(await app.send('/v1/jobs')).toMatchObject({ status: 200, body: { total: 0 } })
  })
})
