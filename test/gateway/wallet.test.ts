// /v1/wallet: what the account has, and every change of it (P1, P3, P46, P47, P68).
import { afterAll, expect, test } from 'vitest'
import { startTestApp, type TestAccount } from '../test-app.ts'

const app = await startTestApp()
afterAll(() => app[Symbol.asyncDispose]())

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

interface Entry {
  readonly entry_id: string
  readonly kind: string
  readonly credits: number
  readonly job_id: string | null
  readonly available_after: number
  readonly held_after: number
}

const wallet = async (payer: TestAccount) => (await app.send('/v1/wallet', { key: payer.key })).body
const entries = async (payer: TestAccount, query = '') =>
  (await app.send(`/v1/wallet/entries${query}`, { key: payer.key })).body
const brief = ({ kind, credits, available_after, held_after }: Entry) => [kind, credits, available_after, held_after]

test('the wallet is exactly available and held', async () => {
  const { status, body } = await app.send('/v1/wallet', { key: (await app.createAccount(7)).key })
  expect([status, body]).toEqual([200, { available: 7, held: 0 }])
})

test('an entry is exactly what the ledger wrote', async () => {
  const payer = await app.createAccount(7)
  expect(await entries(payer)).toStrictEqual({
    object: 'list',
    data: [
      {
        entry_id: expect.stringMatching(/^entry_[0-9a-z]{26}$/),
        kind: 'grant',
        credits: 7,
        job_id: null,
        available_after: 7,
        held_after: 0,
        note: null,
        created_at: time,
        key_id: null,
        key_name: null,
        reference: null,
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        previous_hash: null,
      },
    ],
    total: 1,
    limit: 100,
    offset: 0,
    has_more: false,
  })
})

test('a success is a hold and a charge, newest first', async () => {
  const payer = await app.createAccount(10)
  const { body: job } = await app.generate('test/nothing/text-to-image', { prompt: 'x' }, { account: payer })
  const { data } = await entries(payer)
  expect(data.map(brief)).toEqual([
    ['charge', 3, 7, 0],
    ['hold', 3, 7, 3],
    ['grant', 10, 10, 0],
  ])
  expect(data.map((entry: Entry) => entry.job_id)).toEqual([job.job_id, job.job_id, null])
})

test('what used less than its bound is charged, and the rest released', async () => {
  const payer = await app.createAccount(100)
  await app.generate('test/usage/text-to-image', { seconds: 10, used: 3 }, { account: payer })
  expect((await entries(payer)).data.map(brief)).toEqual([
    ['release', 14, 94, 0],
    ['charge', 6, 80, 14],
    ['hold', 20, 80, 20],
    ['grant', 100, 100, 0],
  ])
})

test('a failure is a hold and its release', async () => {
  const payer = await app.createAccount(10)
  await app.generate('test/failing/text-to-image', { prompt: 'x' }, { account: payer })
  expect((await entries(payer)).data.map(brief)).toEqual([
    ['release', 7, 10, 0],
    ['hold', 7, 3, 7],
    ['grant', 10, 10, 0],
  ])
})

test('grants and adjustments show their notes', async () => {
  const payer = await app.createAccount(10)
  await app.admin.grantCredits({ accountId: payer.accountId, credits: 5n, note: 'welcome' })
  await app.admin.adjustCredits({ accountId: payer.accountId, credits: -3n, note: 'mistake' })
  const { data } = await entries(payer)
  expect(data.map(brief)).toEqual([
    ['adjust', -3, 12, 0],
    ['grant', 5, 15, 0],
    ['grant', 10, 10, 0],
  ])
  expect(data.map((entry: { note: string | null }) => entry.note)).toEqual(['mistake', 'welcome', null])
})

test('the entries explain the balance to the last credit', async () => {
  const payer = await app.createAccount(100)
  const jobs = ['test/nothing/text-to-image', 'test/failing/text-to-image', 'test/instant/edit']
  await Promise.all(jobs.map((model) => app.generate(model, { prompt: 'x' }, { account: payer })))
  const { data } = await entries(payer)
  const balance = { available: 0, held: 0 }
  for (const { kind, credits, available_after, held_after } of data.toReversed() as Entry[]) {
    if (kind === 'grant' || kind === 'adjust' || kind === 'release') balance.available += credits
    if (kind === 'hold') balance.available -= credits
    if (kind === 'hold') balance.held += credits
    if (kind === 'charge' || kind === 'release') balance.held -= credits
    expect(balance).toEqual({ available: available_after, held: held_after })
  }
  expect(await wallet(payer)).toEqual(balance)
  expect(balance).toEqual({ available: 95, held: 0 })
})

test('credits are JSON numbers up to 2^53 - 1', async () => {
  const payer = await app.createAccount(Number.MAX_SAFE_INTEGER)
  const response = await fetch(`${app.url}/v1/wallet`, { headers: { authorization: `Bearer ${payer.key}` } })
  expect(await response.text()).toBe('{"available":9007199254740991,"held":0}')
})

test('limit and offset page through the entries', async () => {
  const payer = await app.createAccount(10)
  for (const credits of [1n, 2n, 3n]) await app.admin.grantCredits({ accountId: payer.accountId, credits })
  const page = await entries(payer, '?limit=2&offset=1')
  expect(page).toMatchObject({ total: 4, limit: 2, offset: 1, has_more: true })
  expect(page.data.map((entry: Entry) => entry.credits)).toEqual([2, 1])
})

test('an account sees its own entries and no others', async () => {
  const [one, other] = await Promise.all([app.createAccount(1), app.createAccount(2)])
  expect((await entries(one)).data.map((entry: Entry) => entry.credits)).toEqual([1])
  expect((await entries(other)).data.map((entry: Entry) => entry.credits)).toEqual([2])
})

test('both need wallet:read and no other', async () => {
  const payer = await app.createAccount(1)
  const reader = await app.createKey(payer.accountId, ['wallet:read'])
  const other = await app.createKey(payer.accountId, ['generate', 'models:read', 'jobs:read', 'admin'])
  for (const path of ['/v1/wallet', '/v1/wallet/entries']) {
    expect((await app.send(path, { key: reader })).status).toBe(200)
    const { status, body } = await app.send(path, { key: other })
    expect([status, body.permission]).toEqual([403, 'wallet:read'])
  }
})
