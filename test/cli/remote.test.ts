// `mediagen admin` with the address of a server: over AdminService there, with a key; and what can go wrong, in words.
import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { openCommandLine } from './command-line.ts'

/** A server with a port for operators, and a command line on another machine, as it were: nothing is in its data directory. */
async function openAfar(settings: Readonly<Record<string, string>> = { MEDIAGEN_ADMIN_PORT: '0' }) {
  await using opened = new AsyncDisposableStack()
  const app = opened.use(await startTestApp({ MEDIAGEN_ROLES: 'api', ...settings }))
  const url = app.app.adminUrl ?? app.app.httpUrl
  const key = await app.createKey(app.account.accountId, ['admin'])
  const line = opened.use(openCommandLine({ MEDIAGEN_URL: url, MEDIAGEN_KEY: key }))
  const owned = opened.move()
  return { app, line, url, key, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('P345: with MEDIAGEN_URL or --url, commands work on that server over its admin port, and a change says where', async () => {
  await using afar = await openAfar()
  const { app, line, url, key } = afar
  const made = await line.run(['admin', 'accounts', 'create', '--name', 'Press office', '--credits', '1000'])
  expect(made).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^Created the account Press office \(acct_\w+\): 1,000 credits available\.\n$/),
    stderr: `on ${url} (key ${key.slice(0, 8)}…, from MEDIAGEN_KEY)\n`,
  })
  const [press, first] = await line.json(['admin', 'accounts', 'list'])
  expect([press, first]).toMatchObject([{ name: 'Press office' }, { account_id: app.account.accountId }])
  const grant = ['admin', 'credits', 'grant', '--account', 'press office', '--credits', '500']
  expect((await line.run([...grant, '--url', url], { MEDIAGEN_URL: '' })).stdout).toBe(
    `Granted 500 credits to Press office (${press.account_id}): 1,500 available.\n`,
  )
  const order = ['admin', 'keys', 'create', '--account', 'Press office', '--permissions', 'wallet:read']
  const limited = await line.run([...order, '--models', 'nothing/*'])
  expect(limited.stderr, 'of the catalog there').toContain('No model of the catalog matches nothing/*.')
  expect((await app.send('/v1/wallet', { key: limited.stdout.trim() })).body).toEqual({ available: 1500, held: 0 })
  const { body: job } = await app.generate('test/instant/text-to-image', { prompt: 'x' }, { wait: false })
  expect(await line.json(['admin', 'jobs', 'show', job.job_id])).toMatchObject({ job_id: job.job_id, status: 'queued' })
  expect(await line.json(['admin', 'ledger', 'verify'])).toMatchObject({ ok: true, accounts: 2 })
  const models: { id: string; ready: boolean }[] = await line.json(['admin', 'models', 'list'], {
    MEDIAGEN_CATALOG: '',
  })
  expect(models, 'of the catalog there').toContainEqual(
    expect.objectContaining({ id: 'test/unready/video-to-video', ready: false }),
  )
  expect(await line.json(['admin', 'providers', 'check', '--timeout', '1'])).toEqual([])
  // On record under the key.
  const [act] = await line.json(['admin', 'audit', 'list', '--account', 'Press office', '--limit', '1'])
  expect(act).toMatchObject({ act: 'key.created', actor: { os_user: null, key_id: expect.stringMatching(/^key_/) } })
})

test('P345: what “mediagen login” kept chooses no server, and its key is for its own server only', async () => {
  await using afar = await openAfar({})
  const { line, url, key } = afar
  const home = { XDG_CONFIG_HOME: line.folder, MEDIAGEN_URL: '', MEDIAGEN_KEY: '' }
  const wallet = await afar.app.createKey(afar.app.account.accountId, ['admin', 'wallet:read'])
  expect((await line.run(['login', '--url', url, '--key', wallet], home)).status).toBe(0)
  const list = ['admin', 'accounts', 'list']
  // The data directory of this machine.
  expect((await line.run(list, home)).stderr).toContain('There is no database')
  expect((await line.run([...list, '--url', url], home)).status).toBe(0)
  const other = await line.run([...list, '--url', url.replace('127.0.0.1', 'localhost')], home)
  expect(other.stderr).toBe(
    `mediagen: There is no API key for ${url.replace('127.0.0.1', 'localhost')}. Set MEDIAGEN_KEY to a key with the permission admin.\n`,
  )
  // With an address in the environment, too.
  const here = { ...home, MEDIAGEN_URL: url, MEDIAGEN_KEY: key }
  expect((await line.run([...list, '--local'], here)).stderr).toContain('There is no database')
  expect((await line.run([...list, '--local', '--url', url], here)).stderr).toContain('cannot be used with')
  expect((await line.run(['accounts', 'list'], here)).stderr, 'the old name').toContain('There is no database')
})

test('P346: a refusal from afar is one sentence that says what to do', async () => {
  await using afar = await openAfar()
  const { app, line, url, key } = afar
  const list = ['admin', 'accounts', 'list']
  const words = async (args: readonly string[], env?: Record<string, string>): Promise<string> => {
    const { status, stdout, stderr } = await line.run(args, env)
    expect({ status, stdout }, stderr).toEqual({ status: 1, stdout: '' })
    expect(stderr).not.toMatch(/^\s+at /m)
    return stderr
  }
  const before = await line.json(list)
  expect(await words(list, { MEDIAGEN_KEY: app.account.key })).toMatch(
    /^mediagen: The API key lacks the permission admin\. The key begins with mgk_\w+ and comes from MEDIAGEN_KEY\. .*--permissions admin.*--local/,
  )
  expect(await words(list, { MEDIAGEN_KEY: 'mgk_0123456789' })).toMatch(
    /unknown, has expired or was revoked.*MEDIAGEN_KEY/,
  )
  expect(await words(list, { MEDIAGEN_KEY: '' })).toContain(`There is no API key for ${url}. Set MEDIAGEN_KEY`)
  expect(await words([...list, '--url', app.app.httpUrl])).toMatch(
    /There is no AdminService at http.*MEDIAGEN_ADMIN_PORT/,
  )
  expect(await words([...list, '--url', 'nowhere'])).toContain('--url must be the address of a server')
  expect(await words([...list, '--url', 'http://127.0.0.1:1'])).toBe(
    'mediagen: http://127.0.0.1:1 cannot be reached: connection refused. Is the server running? --local works on this machine instead.\n',
  )
  expect(await words(['admin', 'keys', 'revoke', 'key_none'])).toContain('mediagen: There is no key "key_none".')
  expect(await words(['admin', 'credits', 'grant', '--account', 'x'.repeat(9), '--credits', '1'])).toContain(
    'There is no account "xxxxxxxxx"',
  )
  for (const command of [
    ['models', 'check'],
    ['models', 'import', 'fal', 'x', '--provider', 'fal'],
  ])
    expect(await words(['admin', ...command, '--url', url])).toContain('run it on the machine of the server')
  for (const command of ['migrate', 'move', 'serve']) expect(await words([command, '--url', url])).toContain('--url')
  expect(await line.json(list, { MEDIAGEN_KEY: key })).toEqual(before)
})

test('P346: a server that is older than the command, one that is no mediagen, and one that hangs up are told apart', async () => {
  await using afar = await openAfar()
  const { line, url, app } = afar
  // What lies before the server lacks one of the rpcs, as an older version does.
  const older = createServer((given, answer) => {
    if (given.url?.endsWith('/RotateQuoteKey')) return void answer.writeHead(404).end()
    const { method, headers, url: path } = given
    const passed = request(new URL(path ?? '', url), { method, headers }, (upstream) => {
      answer.writeHead(upstream.statusCode ?? 0, upstream.headers)
      upstream.pipe(answer)
    })
    given.pipe(passed)
  })
  const other = createServer((_request, response) => response.writeHead(502).end('<html>'))
  const cut = createServer(({ socket }) => socket.destroy())
  const servers = [older, other, cut]
  try {
    const [olderUrl, otherUrl, cutUrl] = await Promise.all(servers.map(listen))
    const rotate = async (to = ''): Promise<string> =>
      (await line.run(['admin', 'quotes', 'rotate-key', '--url', to])).stderr
    expect(await rotate(olderUrl)).toContain(
      `mediagen: The server at ${olderUrl} is of an older version, which cannot do this.`,
    )
    expect(await rotate(otherUrl)).toContain(
      `mediagen: ${otherUrl} did not answer as a server of mediagen does: HTTP 502.`,
    )
    expect(await rotate(cutUrl)).toMatch(/mediagen: http:\S+ (?:cannot be reached|did not answer)/)
    expect(await line.json(['admin', 'audit', 'list', '--account', app.account.accountId])).not.toContainEqual(
      expect.objectContaining({ act: 'signing_key.rotated' }),
    )
  } finally {
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
  }
})
