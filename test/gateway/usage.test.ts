// GET /v1/usage: what jobs were charged, by day, model, key and label; as a table; in money (P295, P296, P297, P298).
import { createRouterTransport } from '@connectrpc/connect'
import { afterAll, describe, expect, test } from 'vitest'
import { WalletService } from '../../gen/mediagen/v1/wallet_pb.ts'
import { startTestApp, type TestAccount } from '../test-app.ts'
import { startBareGateway } from './bare-gateway.ts'

const app = await startTestApp()
const priced = await startTestApp({ MEDIAGEN_CREDIT_PRICE: '0.0125 EUR', MEDIAGEN_TIME_ZONE: 'Pacific/Kiritimati' })
afterAll(() => Promise.all([app[Symbol.asyncDispose](), priced[Symbol.asyncDispose]()]))

const three = 'test/nothing/text-to-image'
const two = 'test/instant/text-to-image'
const dayIn = (timeZone: string): string => new Intl.DateTimeFormat('sv', { timeZone }).format()
const read = async (query: string, payer: TestAccount, server = app) =>
  await server.send(`/v1/usage${query}`, { key: payer.key })

/** Makes pictures: of three credits each for both teams, and one of two credits without a label. */
async function openPayer(server = app): Promise<TestAccount> {
  const payer = await server.createAccount(100)
  const make = async (model: string, labels: object, input: object = { prompt: 'x' }) => {
    const body = { model, input, max_credits: 9, labels }
    const headers = { 'idempotency-key': crypto.randomUUID() }
    expect((await server.send('/v1/run?wait=true', { key: payer.key, headers, body })).status).toBe(200)
  }
  await make(three, { team: 'ads' })
  await make(three, { team: 'ads' })
  await make(three, { team: '=1+2,"x"' })
  await make(two, {}, { prompt: 'x', width: 640 })
  return payer
}

test('this month by day, exactly', async () => {
  const payer = await openPayer()
  const today = dayIn('UTC')
  const sum = { jobs: 4, succeeded: 4, charged: 11, cost: null }
  expect((await read('', payer)).body).toStrictEqual({
    object: 'list',
    data: [{ day: today, model: null, key_id: null, key_name: null, labels: {}, ...sum }],
    total: 1,
    limit: 100,
    offset: 0,
    has_more: false,
    sum,
    from: `${today.slice(0, 7)}-01`,
    to: today,
    time_zone: 'UTC',
  })
  expect((await read('', await app.createAccount(0))).body).toMatchObject({ data: [], sum: { jobs: 0, charged: 0 } })
})

test('by model, key and label, in pages, the sum being that of the ledger', async () => {
  const payer = await openPayer()
  const { body } = await read('?group_by=model,key,label:team&limit=2', payer)
  const { body: account } = await app.send('/v1/account', { key: payer.key })
  const key = { key_id: account.key.key_id, key_name: account.key.name }
  expect(body).toMatchObject({
    data: [
      { model: three, ...key, labels: { team: 'ads' }, charged: 6 },
      { model: three, ...key, labels: { team: '=1+2,"x"' }, charged: 3 },
    ],
    total: 3,
    has_more: true,
  })
  const { body: rest } = await read('?group_by=model,key,label:team&limit=2&offset=2', payer)
  expect(rest).toMatchObject({
    data: [{ model: two, labels: {}, jobs: 1, charged: 2 }],
    has_more: false,
    sum: body.sum,
  })
  const { body: entries } = await app.send('/v1/wallet/entries', { key: payer.key })
  const charges = entries.data.filter(({ kind }: { kind: string }) => kind === 'charge')
  expect(body.sum.charged).toBe(charges.reduce((sum: number, entry: { credits: number }) => sum + entry.credits, 0))
})

test('as a table, in which no label is a formula', async () => {
  const payer = await openPayer()
  const table = async (query: string) => {
    const response = await fetch(`${app.url}/v1/usage?format=csv${query}`, {
      headers: { authorization: `Bearer ${payer.key}` },
    })
    return [response.headers.get('content-type'), await response.text()]
  }
  expect(await table('&group_by=label:team,model')).toEqual([
    'text/csv; charset=utf-8',
    [
      'label:team,model,jobs,succeeded,charged',
      `ads,${three},2,2,6`,
      `"'=1+2,""x""",${three},1,1,3`,
      `,${two},1,1,2`,
      '',
    ].join('\r\n'),
  ])
  expect(await table('&group_by=model&limit=1&offset=1')).toEqual([
    'text/csv; charset=utf-8',
    `model,jobs,succeeded,charged\r\n${two},1,1,2\r\n`,
  ])
})

test('a table that would be cut is refused, unless the client has set the limit', async () => {
  const asked: (number | undefined)[] = []
  const transport = createRouterTransport(({ service }) =>
    service(WalletService, {
      getUsage({ limit }) {
        asked.push(limit)
        return { rows: [{ day: '2026-11-01', jobs: 1n, succeeded: 1n, charged: 2n }], total: 10_001, sum: {} }
      },
    }),
  )
  await using gateway = await startBareGateway(transport)
  const send = async (query: string) => {
    const headers = { authorization: `Bearer ${app.account.key}` }
    const response = await fetch(`http://127.0.0.1:${gateway.port}/v1/usage?format=csv${query}`, { headers })
    return [response.status, await response.text()]
  }
  expect(await send('')).toEqual([400, expect.stringContaining('limit must be sent for a table of 10001 rows')])
  expect(await send('&limit=1')).toEqual([200, 'day,jobs,succeeded,charged\r\n2026-11-01,1,1,2\r\n'])
  expect(asked).toEqual([10_000, 1])
})

test('with a price, money is beside credits, to the last decimal; days are those of the time zone', async () => {
  const payer = await openPayer(priced)
  const { body } = await read('?group_by=day,model', payer, priced)
  expect(body).toMatchObject({
    data: [
      { charged: 9, cost: { amount: '0.1125', currency: 'EUR' } },
      { charged: 2, cost: { amount: '0.0250', currency: 'EUR' } },
    ],
    sum: { charged: 11, cost: { amount: '0.1375', currency: 'EUR' } },
    to: dayIn('Pacific/Kiritimati'),
    time_zone: 'Pacific/Kiritimati',
  })
  expect(body.data[0].day).toBe(body.to)
  const { text } = await readText('?format=csv&group_by=model', payer)
  expect(text).toBe(
    `model,jobs,succeeded,charged,cost,currency\r\n${three},3,3,9,0.1125,EUR\r\n${two},1,1,2,0.0250,EUR\r\n`,
  )
})

async function readText(query: string, { key }: TestAccount) {
  const response = await fetch(`${priced.url}/v1/usage${query}`, { headers: { authorization: `Bearer ${key}` } })
  return { text: await response.text() }
}

describe('what is wrong is said', () => {
  test.each([
    ['?from=2026-11-30&to=2026-11-01', 'from must not be after the last day, 2026-11-01.'],
    ['?from=9999-01-01', `from must not be after the last day, ${dayIn('UTC')}.`],
    ['?from=2026-02-30&to=2026-03-01', 'from must be a day such as 2026-11-30.'],
    ['?to=yesterday', 'to must be a day such as 2026-11-30.'],
    ['?from=2026-01-01T00:00:00Z', 'from must be a day such as 2026-11-30.'],
    ['?from=2025-11-01&to=2026-11-02', 'from must be at most 366 days before the end of 2026-11-02, not 367.'],
    ['?group_by=colour', 'group_by has "colour", which must be day, model, key, or label: and the name of a label.'],
    ['?group_by=day,', 'group_by has "", which must be day, model, key, or label: and the name of a label.'],
    ['?group_by=label:', 'group_by has "label:", which must have a name of 1 to 64 letters, digits, "_", "." and "-".'],
    ['?group_by=label:a%27b', 'group_by has "label:a\'b", which must have a name of 1 to 64 letters'],
    ['?group_by=day,model,day', 'group_by has "day", which must not be repeated.'],
    [
      `?group_by=${Array.from({ length: 9 }, (_, n) => `label:l${n}`).join()}`,
      'group_by must be at most 8 groups, but has 9.',
    ],
    ['?format=xml', 'format must be one of json, csv.'],
    ['?limit=10001', 'limit must be a whole number, 1 to 10000.'],
    ['?groupby=day', 'groupby is not a known query parameter.'],
  ])('%s', async (query, words) => {
    const { status, body } = await read(query, app.account)
    expect([status, body.code]).toEqual([400, 'invalid_request'])
    expect(body.detail).toContain(`The query parameter ${words}`)
  })
})
