// Limits of keys hold over real processes that serve one database, on both stores (P226).
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nullCredits, writeNullCatalog } from '../../bench/null-models.ts'
import { openCommandLine, type Served } from '../cli/command-line.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../storage/postgres-server.ts'

const model = 'null/instant/text-to-image'
const input = { prompt: 'x' }
const processes = 4
const keys = 10
const startsEach = 100
const fitting = 14

let postgres: PostgresServer | undefined
beforeAll(async () => {
  if (hasPostgres) postgres = await startPostgres()
})
afterAll(() => postgres?.[Symbol.asyncDispose]())

async function post(url: string, key: string, body: object): Promise<{ status: number; body: any }> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': crypto.randomUUID(),
    },
    body: JSON.stringify(body),
  })
  return { status: answer.status, body: await answer.json() }
}

test.each([['SQLite'], ['PostgreSQL']])('a thousand starts over ten keys and four processes on %s', async (store) => {
  const database = store === 'PostgreSQL' ? { MEDIAGEN_DATABASE_URL: postgres?.url ?? '' } : {}
  await using line = openCommandLine({ ...database, MEDIAGEN_RATE_LIMIT: '0', MEDIAGEN_BYTE_RATE: '0' })
  await line.run(['migrate'])
  const catalog = writeNullCatalog(line.folder, [{ id: model, concurrency: 1 }])
  const served: Served[] = []
  for (let number = 0; number < processes; number += 1)
    served.push(await line.serve({ MEDIAGEN_ROLES: 'api', MEDIAGEN_CATALOG: catalog }))
  const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'a', '--credits', '1000000'])
  const order = ['admin', 'keys', 'create', '--account', account_id, '--permissions', 'generate,wallet:read']
  const made: { key: string; quote_id: string }[] = []
  for (let number = 0; number < keys; number += 1) {
    const { key } = await line.json([...order, '--daily', String(fitting * nullCredits + nullCredits - 1)])
    const quoted = await post(`${served[0]?.httpUrl}/v1/quotes`, key, { model, input })
    made.push({ key, quote_id: quoted.body.quote_id })
  }
  const answers = await Promise.all(
    Array.from({ length: keys * startsEach }, (_, index) => {
      const { key = '', quote_id } = made[index % keys] ?? {}
      return post(`${served[index % processes]?.httpUrl}/v1/generate`, key, { model, input, quote_id })
    }),
  )
  const started = answers.filter(({ status }) => status === 202)
  const refused = answers.filter(({ status, body }) => status === 402 && body.code === 'budget_exceeded')
  expect([started.length, refused.length]).toEqual([keys * fitting, keys * (startsEach - fitting)])
  const wallet = await fetch(`${served[0]?.httpUrl}/v1/wallet`, {
    headers: { authorization: `Bearer ${made[0]?.key}` },
  })
  expect(await wallet.json()).toEqual({
    available: 1_000_000 - keys * fitting * nullCredits,
    held: keys * fitting * nullCredits,
  })
  expect((await line.json(['admin', 'ledger', 'verify'])).ok).toBe(true)
})
