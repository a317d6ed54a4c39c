// mediagen conformance against real servers, and through proxies that lie in one place each.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestAccount, type TestApp } from '../test-app.ts'
import { openCommandLine } from './command-line.ts'

const model = 'test/instant/text-to-image'
let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app[Symbol.asyncDispose]())

interface Given {
  readonly url?: string
  readonly account?: TestAccount
  readonly options?: readonly string[]
}

/** Runs the command, by default with an account of its own that has few credits. */
async function conform({ url = app.url, account, options = ['--model', model] }: Given = {}) {
  const { key } = account ?? (await app.createAccount(30))
  await using line = openCommandLine()
  const args = ['conformance', url, '--key', key, '--max-credits', '40', ...options]
  const { status, stdout, stderr } = await line.run(args)
  const those = (result: string): string[] =>
    stdout.split('\n').flatMap((each) => (each.startsWith(result) ? [each.slice('skipped  '.length)] : []))
  return { status, stdout, stderr, failed: those('FAILED'), skipped: those('skipped') }
}

interface Message {
  readonly path: string
  readonly headers: Record<string, string>
  body: string
}

interface Reply {
  readonly status: number
  readonly type: string
  body: string
}

/** A proxy through which each request goes as `lie` has it. */
async function openLiar(lie: (sent: Message, forward: (sent: Message) => Promise<Reply>) => Promise<Reply>) {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url: path = '/' } = request
    const forward = async (sent: Message): Promise<Reply> => {
      const body = method === 'GET' || sent.body === '' ? null : sent.body
      const answer = await fetch(app.url + sent.path, { method, headers: sent.headers, body })
      const type = answer.headers.get('content-type') ?? ''
      return { status: answer.status, type, body: await answer.text() }
    }
    const sent = { path, headers: pick(request.headers), body: await text(request) }
    const { status, type, body } = await lie(sent, forward)
    response.writeHead(status, { 'content-type': type }).end(body)
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function pick(headers: IncomingHttpHeaders): Record<string, string> {
  const names = ['authorization', 'content-type', 'idempotency-key']
  return Object.fromEntries(names.flatMap((name) => (headers[name] ? [[name, String(headers[name])]] : [])))
}

/** Changes JSON answers of the paths that begin so. */
const rewrite =
  (begin: string, change: (body: any, count: number) => void, count = { of: 0 }): Parameters<typeof openLiar>[0] =>
  async (sent, forward) => {
    const reply = await forward(sent)
    if (!sent.path.startsWith(begin) || !reply.type.includes('json')) return reply
    const body = JSON.parse(reply.body)
    change(body, (count.of += 1))
    return { ...reply, body: JSON.stringify(body) }
  }

test('a server keeps every promise that can be tried', async () => {
  const made = await conform({ options: ['--model', model, '--other-key', app.account.key] })
  expect(made).toMatchObject({ failed: [], stderr: '', status: 0 })
  expect(made.skipped).toEqual([expect.stringMatching(/^an expired quote .* valid for \d+ more seconds$/)])
  expect(made.stdout).toMatch(/^Spends at most 40 credits, on test\/instant\/text-to-image for 3 credits each\.\n/)
  expect(made.stdout).toMatch(/\nNo check failed; \d+ credits spent\.\n$/)
})

test('without a model it takes the cheapest one with an example; a job that fails or is billed by usage conforms, too', async () => {
  const cheapest = await conform({ account: await app.createAccount(4), options: [] })
  expect(cheapest.stdout).toContain('on test/timeout/text-to-image for 1 credit each.')
  expect(cheapest.failed).toEqual([])
  const usage = ['--model', 'test/usage/text-to-image', '--input', '{"seconds": 2, "used": 1}']
  expect((await conform({ account: await app.createAccount(16), options: usage })).failed).toEqual([])
})

test('a quote that expires soon is awaited', async () => {
  await using short = await startTestApp({ MEDIAGEN_QUOTE_TTL_SECONDS: '2' })
  const made = await conform({ url: short.url, account: short.account })
  expect(made.failed).toEqual([])
  expect(made.stdout).toContain('ok       an expired quote is refused')
  expect(made.skipped).toContainEqual(expect.stringMatching(/^starts at once never .*: the account has \d+ credits/))
})

describe('a server that lies is found out', () => {
  const lies: Record<string, { lie: Parameters<typeof openLiar>[0]; failed: readonly RegExp[] }> = {
    'about the balance': {
      lie: rewrite('/v1/wallet', (wallet) => 'available' in wallet && (wallet.available += 1)),
      failed: [/^the wallet is what the ledger adds up to/],
    },
    'about the key of a start, and charges again': {
      lie: async (sent, forward) =>
        forward(
          sent.headers['idempotency-key'] === undefined
            ? sent
            : { ...sent, headers: { ...sent.headers, 'idempotency-key': crypto.randomUUID() } },
        ),
      failed: [/^the same start/, /^another start with the same key/, /^equal starts at once/],
    },
    'about the hash of an entry': {
      lie: rewrite('/v1/wallet/entries', ({ data }) => data.at(-1) && (data.at(-1).hash = 'f'.repeat(64))),
      failed: [/^the hash of each entry covers it/],
    },
    'about the input of a quote': {
      async lie(sent, forward) {
        const reply = await forward(sent)
        if (!reply.body.includes('quote_mismatch')) return reply
        const { model: id, input } = JSON.parse(sent.body)
        const quoted = await forward({ ...sent, path: '/v1/quotes', body: JSON.stringify({ model: id, input }) })
        const { quote_id } = JSON.parse(quoted.body)
        return forward({ ...sent, body: JSON.stringify({ model: id, input, quote_id }) })
      },
      failed: [/^a start with another input than the quoted one/],
    },
    'about its past': {
      lie: rewrite('/v1/wallet/entries', ({ data }, count) => count > 40 && (data.at(-1).note = 'a loan')),
      failed: [/^an entry that was seen never changes/],
    },
    'about what a job was charged': {
      lie: rewrite('/v1/jobs/', ({ billing }) => billing?.charged && (billing.charged -= 1)),
      failed: [/^each job has one hold/],
    },
    'about what the account has, and lends it some': {
      async lie(sent, forward) {
        const reply = await forward(sent)
        if (reply.status !== 402) return reply
        const accounts = await app.send('/v1/account', { key: (sent.headers['authorization'] ?? '').slice(7) })
        await app.admin.grantCredits({ accountId: accounts.body.account_id, credits: 3n })
        return forward(sent)
      },
      failed: [/^starts at once never hold more/],
    },
  }
  test.each(Object.entries(lies))('%s', async (_name, { lie, failed }) => {
    await using liar = await openLiar(lie)
    const made = await conform({ url: liar.url })
    expect(made.status).toBe(1)
    expect(made.failed).toEqual(failed.map((line) => expect.stringMatching(line)))
    for (const line of made.failed) expect(line).toMatch(/: expected .*, but saw ./)
  })
})

test('other traffic of the account is said', async () => {
  const account = await app.createAccount(30)
  let others = 0
  await using busy = await openLiar(async (sent, forward) => {
    if (sent.path === '/v1/models/categories' && (others += 1) === 1)
      await app.generate(model, { prompt: 'x' }, { account })
    return forward(sent)
  })
  const made = await conform({ url: busy.url, account })
  expect(made.stderr).toMatch(/^2 ledger entries are of no job that was started here: other traffic/)
})

test('what it cannot be run with is refused by name, and nothing is spent', async () => {
  const { accountId, key } = await app.createAccount(30)
  const wrong = async (given: Given) => (await conform(given)).stderr
  const poor = { accountId, key: await app.createKey(accountId, ['generate', 'jobs:read']) }
  expect(await wrong({ account: poor })).toContain('lacks the permissions models:read, wallet:read.')
  expect(await wrong({ account: { accountId, key: 'mgk_none' } })).toMatch(
    /key begins with mgk_none and comes from --key/,
  )
  expect(await wrong({ options: ['--model', 'test/none'] })).toContain(
    'There is no price for test/none with an example of its own',
  )
  expect(await wrong({ options: ['--model', 'test/gate/text-to-image', '--input', '{}'] })).toContain('invalid_input')
  expect(await wrong({ options: ['--input', '{}'] })).toContain('--input needs --model')
  expect(await wrong({ options: ['--model', model, '--input', '7'] })).toContain('must be a JSON object')
  expect(await wrong({ options: ['--model', model, '--max-credits', '2'] })).toContain(
    'costs 3 credits, and --max-credits is 2',
  )
  expect(await wrong({ url: 'nowhere' })).toContain('must be the address of a server')
  expect((await app.send('/v1/wallet', { key })).body).toEqual({ available: 30, held: 0 })
})

test('--json prints one document', async () => {
  const { stdout, status } = await conform({ options: ['--model', model, '--json'] })
  const { results, spent, foreign } = JSON.parse(stdout)
  expect(results).toContainEqual({ invariant: 'no balance was ever negative', result: 'ok', detail: null })
  expect([status, spent > 0, foreign]).toEqual([0, true, 0])
})
