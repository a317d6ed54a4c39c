// Labels of starts, receipts of jobs, and where to buy credits (P281, P282, P283, P284, P285, P286, P287).
import { afterAll, describe, expect, test } from 'vitest'
import { openReceiver } from '../outgoing/receiver.ts'
import { startTestApp, type TestAccount } from '../test-app.ts'

const app = await startTestApp({
  MEDIAGEN_LABEL_HEADERS: 'X-OpenWebUI-User-Email=user, x-team = team',
  MEDIAGEN_TOP_UP_URL: 'https://shop.example/buy?for={account}&again={account}',
  MEDIAGEN_OPENAI_IMAGE_MODEL: 'test/nothing/text-to-image',
  MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'true',
})
const idle = await startTestApp({ MEDIAGEN_ROLES: 'api' })
afterAll(() => Promise.all([app[Symbol.asyncDispose](), idle[Symbol.asyncDispose]()]))

const model = 'test/nothing/text-to-image'
const input = { prompt: 'x' }

interface Start {
  readonly server?: typeof app
  readonly payer?: TestAccount
  readonly idempotencyKey?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

async function generate({ server = app, payer = server.account, idempotencyKey, headers, body }: Start = {}) {
  const { body: quote } = await server.send('/v1/quotes', { key: payer.key, body: { model, input } })
  return server.send('/v1/generate?wait=true', {
    key: payer.key,
    headers: { 'idempotency-key': idempotencyKey ?? crypto.randomUUID(), ...headers },
    body: { model, input, quote_id: quote.quote_id, ...body },
  })
}

function run({ server = app, payer = server.account, idempotencyKey, headers, body }: Start = {}) {
  return server.send('/v1/run?wait=true', {
    key: payer.key,
    headers: { 'idempotency-key': idempotencyKey ?? crypto.randomUUID(), ...headers },
    body: { model, input, max_credits: 9, ...body },
  })
}

const labelled = (sent: string) => ({ 'mediagen-labels': sent })
/** Text as the bytes that a header carries. */
const utf8 = (text: string): string => Buffer.from(text).toString('latin1')
const many = (count: number): string => Array.from({ length: count }, (_, index) => `l${index}=x`).join(',')

describe('labels', () => {
  test.each([
    ['team=ads, campaign=42', { team: 'ads', campaign: '42' }],
    ['team=ads,campaign=42,', { team: 'ads', campaign: '42' }],
    ['cost.centre-1_X=a@b.example/c;d=e', { 'cost.centre-1_X': 'a@b.example/c;d=e' }],
    [String.raw`note="spring, \"2026\" \\ =",team=ads`, { note: String.raw`spring, "2026" \ =`, team: 'ads' }],
    [utf8('city="Zürich 🎨", b=ü'), { city: 'Zürich 🎨', b: 'ü' }],
    [`${'n'.repeat(64)}=${'v'.repeat(256)}`, { ['n'.repeat(64)]: 'v'.repeat(256) }],
    [utf8(`a="${'🎨'.repeat(256)}"`), { a: '🎨'.repeat(256) }],
    ['constructor=x, toString=y', { constructor: 'x', toString: 'y' }],
    [many(16), Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`l${index}`, 'x']))],
    [' ', {}],
  ])('of the header %s are on the record', async (sent, labels) => {
    const { status, body } = await generate({ headers: labelled(sent) })
    expect([status, body.labels]).toEqual([200, labels])
    expect((await app.send(`/v1/jobs/${body.job_id}`)).body.labels).toEqual(labels)
    expect((await app.send('/v1/jobs?limit=1')).body.data[0].labels).toEqual(labels)
    expect((await run({ headers: labelled(sent) })).body.labels).toEqual(labels)
  })

  test.each([
    [many(17), 'must have at most 16 labels, but has 17'],
    ['team', 'must be labels such as'],
    ['team=ads campaign=42', 'but has "team=ads campaign=42"'],
    ['a=b; c', 'but has "a=b; c"'],
    ['a=b,,c=d', 'but has ",c=d"'],
    ['=x', 'but has "=x"'],
    ['a="open', 'but has "a=\\"open"'],
    ['a="b"c', 'must be labels such as'],
    ['team=ads, team=ads', 'has the label "team" twice'],
    ['team=', 'has a label "team", which must have a value of 1 to 256 characters'],
    [`a=${'v'.repeat(257)}`, 'has a label "a", which must have a value of 1 to 256 characters'],
    [`${'n'.repeat(65)}=x`, 'which must have a name of 1 to 64 letters'],
    ['te/am=x', 'has a label "te/am", which must have a name'],
    ['__proto__=x', 'has a label "__proto__", which must have a name'],
    [utf8('größe=x'), 'has a label "größe", which must have a name'],
    ['a="\t"', 'has a label "a", which must be one line'],
    [utf8('a="\u202egnp"'), 'has a label "a", which must be one line'],
    ['a=\u00fc', 'must be UTF-8'],
  ])('of the header %s are refused by name, and nothing is held', async (sent, words) => {
    const payer = await app.createAccount(5)
    for (const send of [generate, run]) {
      const { status, body } = await send({ payer, headers: labelled(sent) })
      expect([status, body.code]).toEqual([400, 'invalid_request'])
      expect(body.detail).toMatch(/^The header Mediagen-Labels .*\.$/)
      expect(body.detail).toContain(words)
      expect(body.errors).toMatchObject([{ pointer: 'Mediagen-Labels' }])
    }
    expect((await app.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 5, held: 0 })
  })

  test('that headers of one name repeat are read as one', async () => {
    const { body: quote } = await app.send('/v1/quotes', { body: { model, input } })
    const headers = new Headers({
      authorization: `Bearer ${app.account.key}`,
      'content-type': 'application/json',
      'idempotency-key': crypto.randomUUID(),
    })
    for (const label of ['team=ads', 'campaign=42']) headers.append('mediagen-labels', label)
    const body = JSON.stringify({ model, input, quote_id: quote.quote_id })
    const response = await fetch(`${app.url}/v1/generate`, { method: 'POST', headers, body })
    expect(await response.json()).toMatchObject({ labels: { team: 'ads', campaign: '42' } })
  })

  test('a run takes them in its body, before those of its header', async () => {
    const headers = labelled('team=ads, campaign=42')
    const { body } = await run({ headers, body: { labels: { team: 'art', note: 'a, "b"' } } })
    expect(body.labels).toEqual({ team: 'art', campaign: '42', note: 'a, "b"' })
    for (const [labels, pointer] of [
      [{ 'a b': 'x' }, '/labels/a b'],
      [{ 'a/b': 'x' }, '/labels/a~1b'],
      [{ a: '' }, '/labels/a'],
      [{ a: 'x\ny' }, '/labels/a'],
      [{ a: 1 }, '/labels/a'],
      [['a'], '/labels'],
      [Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`l${index}`, 'x'])), '/labels'],
    ] as const) {
      const refused = await run({ headers, body: { labels } })
      expect([refused.status, refused.body.errors?.[0]?.pointer]).toEqual([400, pointer])
    }
  })

  test('are no field of the body of POST /v1/generate', async () => {
    const { status, body } = await generate({ body: { labels: { team: 'ads' } } })
    expect([status, body.errors]).toMatchObject([400, [{ pointer: '/labels' }]])
  })

  test('are no part of the request of an Idempotency-Key: the job keeps those of its first start', async () => {
    for (const send of [generate, run]) {
      const payer = await app.createAccount(5)
      const idempotencyKey = crypto.randomUUID()
      const { body: quote } = await app.send('/v1/quotes', { key: payer.key, body: { model, input } })
      const again = (headers: Record<string, string>) =>
        send({ payer, idempotencyKey, headers, body: send === generate ? { quote_id: quote.quote_id } : {} })
      const first = await again(labelled('team=ads'))
      expect(first.body.labels).toEqual({ team: 'ads' })
      for (const headers of [
        {},
        labelled('team=art'),
        { ...labelled('team=ads'), 'x-openwebui-user-email': 'a@b.c' },
      ]) {
        const { status, headers: answered, body } = await again(headers)
        expect([status, answered.get('idempotent-replayed')]).toEqual([200, 'true'])
        expect(body).toMatchObject({ job_id: first.body.job_id, labels: { team: 'ads' } })
      }
      expect((await app.send('/v1/wallet', { key: payer.key })).body).toEqual({ available: 2, held: 0 })
    }
  })

  test('webhooks carry them with the record', async () => {
    await using receiver = await openReceiver()
    const payer = await app.createAccount(5)
    const registered = await app.send('/v1/webhooks', { key: payer.key, body: { url: receiver.url } })
    expect(registered.status).toBe(201)
    const { body: job } = await generate({ payer, headers: labelled('team=ads') })
    const { data } = JSON.parse((await receiver.next()).body)
    expect(data).toMatchObject({ job_id: job.job_id, labels: { team: 'ads' }, receipt: job.receipt })
  })
})

describe('headers that become labels (MEDIAGEN_LABEL_HEADERS)', () => {
  const user = 'x-openwebui-user-email'

  test('what the start itself says comes before them', async () => {
    const headers = { [user]: 'a@b.example', 'x-team': utf8('Werbung für alle'), 'x-other': 'y' }
    const both = { user: 'a@b.example', team: 'Werbung für alle' }
    expect((await generate({ headers })).body.labels).toEqual(both)
    const said = await generate({ headers: { ...headers, ...labelled('team=ads') } })
    expect(said.body.labels).toEqual({ ...both, team: 'ads' })
    expect((await run({ headers, body: { labels: { user: 'me' } } })).body.labels).toEqual({ ...both, user: 'me' })
  })

  test.each([
    ['', {}],
    ['x'.repeat(257), {}],
    [utf8('\u202ea'), {}],
    ['\u00fc', {}],
  ])('one that cannot be a label is ignored: %j', async (sent, labels) => {
    const { status, body } = await generate({ headers: { [user]: sent } })
    expect([status, body.labels]).toEqual([200, labels])
  })

  test('one too many is ignored', async () => {
    const { status, body } = await generate({ headers: { [user]: 'a@b.example', ...labelled(many(16)) } })
    expect([status, Object.keys(body.labels).length, body.labels.user]).toEqual([200, 16, undefined])
  })

  test.each([
    'nonsense',
    'X-User=',
    '=user',
    'X-User=a b',
    'X User=user',
    'X-User=us/er',
    'X-A=user, X-B=user',
    Array.from({ length: 17 }, (_, index) => `X-${index}=l${index}`).join(),
  ])('a server does not start with %s', async (written) => {
    await expect(startTestApp({ MEDIAGEN_LABEL_HEADERS: written })).rejects.toThrow(/^MEDIAGEN_LABEL_HEADERS must /)
  })

  test('those of a request of OpenAI’s interface are on each of its jobs', async () => {
    const payer = await app.createAccount(50)
    const make = (headers: Record<string, string>) =>
      app.send('/v1/images/generations', {
        key: payer.key,
        headers: { 'mediagen-max-credits': '50', [user]: 'a@b.example', ...headers },
        body: { prompt: 'x', n: 2 },
      })
    const { headers } = await make(labelled('team=ads'))
    const { data } = (await app.send('/v1/jobs', { key: payer.key })).body
    expect(data.map((job: { labels: object }) => job.labels)).toEqual([
      { user: 'a@b.example', team: 'ads' },
      { user: 'a@b.example', team: 'ads' },
    ])
    expect(headers.get('mediagen-receipt')).toBe(`held=6, charged=6, released=0, key_id="${data[0].key_id}"`)
    const refused = await make(labelled('team'))
    expect(refused.body).toMatchObject({ code: 'invalid_request', errors: [{ pointer: 'Mediagen-Labels' }] })
  })
})

describe('receipts', () => {
  const toHeader = ({ held, charged, released, quote_id, key_id }: Record<string, string | number>) =>
    `held=${held}, charged=${charged}, released=${released}, quote_id="${quote_id}", key_id="${key_id}"`

  test('a job that has ended says what it cost, in its record and in a header', async () => {
    for (const send of [generate, run]) {
      const { headers, body: job } = await send()
      const { quote_id, key_id } = job
      expect(job.receipt).toEqual({ held: 3, charged: 3, released: 0, quote_id, key_id })
      expect(key_id).toMatch(/^key_/)
      expect(headers.get('mediagen-receipt')).toBe(toHeader(job.receipt))
      for (const path of ['', '/cancel']) {
        const method = path === '' ? 'GET' : 'POST'
        const read = await app.send(`/v1/jobs/${job.job_id}${path}`, { method })
        expect(read.body.receipt).toEqual(job.receipt)
        expect(read.headers.get('mediagen-receipt')).toBe(toHeader(job.receipt))
      }
    }
  })

  test.each([
    ['test/usage/text-to-image', { seconds: 10, used: 3 }],
    ['test/failing/text-to-image', { prompt: 'x' }],
  ])('the end of %s releases what it did not charge', async (other, given) => {
    const made = await app.send('/v1/run?wait=true', {
      headers: { 'idempotency-key': crypto.randomUUID() },
      body: { model: other, input: given, max_credits: 99 },
    })
    const { receipt, billing } = made.body
    expect([made.status, receipt.released > 0]).toEqual([200, true])
    expect(receipt).toMatchObject({ held: billing.held, charged: billing.charged, released: billing.released })
    expect(receipt.charged + receipt.released).toBe(receipt.held)
    expect(made.headers.get('mediagen-receipt')).toBe(toHeader(receipt))
  })

  test('an expired job released what it held', async () => {
    const { body } = await run({ server: idle, headers: { 'cancel-after': '1' } })
    await expect
      .poll(async () => (await idle.send(`/v1/jobs/${body.job_id}`)).body)
      .toMatchObject({ status: 'expired', receipt: { held: 3, charged: 0, released: 3 } })
  })

  test('none before the end; a canceled job released what it held', async () => {
    const { body: quote } = await idle.send('/v1/quotes', { body: { model, input } })
    const started = await idle.send('/v1/generate', {
      headers: { 'idempotency-key': crypto.randomUUID() },
      body: { model, input, quote_id: quote.quote_id },
    })
    expect([started.status, started.body.receipt, started.headers.get('mediagen-receipt')]).toEqual([202, null, null])
    const ended = await idle.send(`/v1/jobs/${started.body.job_id}/cancel`, { method: 'POST' })
    expect(ended.body.receipt).toMatchObject({ held: 3, charged: 0, released: 3 })
    expect(ended.headers.get('mediagen-receipt')).toBe(toHeader(ended.body.receipt))
  })
})

test('a refusal for lack of credits says where to buy some, if the server knows it', async () => {
  const payer = await app.createAccount(2)
  for (const send of [generate, run]) {
    const { status, body } = await send({ payer })
    const { accountId } = payer
    expect([status, body]).toMatchObject([402, { code: 'insufficient_credits', required: 3, available: 2 }])
    expect(body.top_up_url).toBe(`https://shop.example/buy?for=${accountId}&again=${accountId}`)
  }
  const made = await app.send('/v1/images/generations', { key: payer.key, body: { prompt: 'x', max_credits: 9 } })
  expect([made.status, made.body]).toMatchObject([
    402,
    {
      required: 3,
      available: 2,
      top_up_url: expect.stringContaining(payer.accountId),
      error: { type: 'insufficient_quota' },
    },
  ])
  const { body } = await generate({ server: idle, payer: await idle.createAccount(2) })
  expect(body).not.toHaveProperty('top_up_url')
  await expect(startTestApp({ MEDIAGEN_TOP_UP_URL: 'shop.example' })).rejects.toThrow(
    'MEDIAGEN_TOP_UP_URL must be an address that begins with `http://` or `https://`',
  )
})
