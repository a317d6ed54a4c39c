// A fleet under load, whose PostgreSQL goes away and comes back.
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Served } from '../cli/command-line.ts'
import { startCuttingProxy } from '../storage/cutting-proxy.ts'
import { hasPostgres, type PostgresServer, runSql, startPostgres } from '../storage/postgres-server.ts'
import { openUnderLoad } from './fleet.ts'

const isOurs = process.env['MEDIAGEN_TEST_POSTGRES_URL'] === undefined
const awayMs = 20_000

describe.skipIf(!hasPostgres || !isOurs)('a fleet under load, with a PostgreSQL of its own', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  test.each([
    ['SIGINT', 'fast'],
    ['SIGQUIT', 'immediate'],
  ] as const)('the database is restarted, again and again (%s)', async (signal, name) => {
    await using fleet = await openUnderLoad({ MEDIAGEN_DATABASE_URL: await server.createDatabase() })
    const { load } = fleet
    for (let times = 1; times <= 3; times++) {
      await server.crash(signal)
      await server.restart()
      await load.goesOn()
      await load.more(50)
    }
    await fleet.check(`restarted (${name}), 3 times`)
  })

  test.each(['refuses', 'silent'] as const)('for 20 seconds the way to the database %s', async (mode) => {
    const url = await server.createDatabase()
    await using proxy = await startCuttingProxy(url)
    await using fleet = await openUnderLoad({ MEDIAGEN_DATABASE_URL: proxy.through(url) })
    const { load, machines } = fleet
    await proxy.set(mode)
    const back = pause(awayMs)
    // Nobody restarts a process for what it cannot mend, and no client is sent to it.
    const health = { alive: 200, ready: 503, reason: expect.stringContaining('the database cannot be written') }
    for (const machine of machines) expect(await readHealth(machine)).toEqual(health)
    await back
    for (const machine of machines) expect(await readHealth(machine)).toEqual(health)
    await proxy.set('passes')
    await load.goesOn()
    for (const machine of machines)
      await expect.poll(() => readHealth(machine)).toEqual({ alive: 200, ready: 200, reason: undefined })
    const tally = await fleet.check(`unreachable for 20 s (${mode})`)
    expect(tally.refusals).toBeGreaterThan(0)
  })

  test('the database is killed, and its standby takes over', async () => {
    await using primary = await startPostgres()
    const url = await primary.createDatabase()
    await using standby = await primary.follow()
    await using proxy = await startCuttingProxy(url)
    await using fleet = await openUnderLoad({ MEDIAGEN_DATABASE_URL: proxy.through(url) })
    const { load, machines } = fleet
    await primary.crash('SIGKILL')
    // Nobody reaches the old one any more; the address leads to the new one before that takes changes.
    await proxy.set('refuses')
    proxy.leadTo(standby.url)
    await proxy.set('passes')
    for (const machine of machines)
      await expect.poll(() => readHealth(machine)).toMatchObject({ alive: 200, ready: 503 })
    // What only follows is not read either: it might do so for ever.
    const headers = { authorization: `Bearer ${load.key}` }
    expect((await fetch(`${machines[0]?.httpUrl}/v1/jobs?limit=1`, { headers })).status).toBe(503)
    await runSql(standby.url, 'SELECT pg_promote()')
    await load.goesOn()
    await fleet.check('failed over to a standby')
  })
})

async function readHealth({ httpUrl }: Served): Promise<{ alive: number; ready: number; reason: unknown }> {
  const [alive, ready] = await Promise.all(['healthz', 'readyz'].map((path) => fetch(`${httpUrl}/${path}`)))
  if (!alive || !ready) throw new Error('no answers')
  const { reason } = (await ready.json()) as { reason?: unknown }
  return { alive: alive.status, ready: ready.status, reason }
}
