// Where operators' doors are: AdminService, its console (P325), /metrics and reflection are on the public ports while only this machine reaches
// those, at an address of their own when the settings name one, and nowhere otherwise.
import { createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import { expect, test } from 'vitest'
import { AdminService } from '../gen/mediagen/v1/admin_pb.ts'
import { WalletService } from '../gen/mediagen/v1/wallet_pb.ts'
import { startApp } from '../src/app/start.ts'
import { readConfig } from '../src/config.ts'
import { permissions } from '../src/core/accounts/key.ts'
import { isLoopback } from '../src/outgoing/hosts.ts'
import { createGateEngine } from './gate-engine.ts'
import { keepLog } from './kept-log.ts'
import { openForeignClient } from './rpc/foreign-client.ts'
import { openReflection } from './rpc/reflection-client.ts'
import { startTestApp, type TestApp } from './test-app.ts'

// Without an address for clients, a server on all addresses logs a warning of its own.
const publicUrl = { MEDIAGEN_PUBLIC_URL: 'http://media.example' }
const everywhere = { MEDIAGEN_HOST: '0.0.0.0', MEDIAGEN_ROLES: 'api', ...publicUrl }
const ownPorts = { MEDIAGEN_ADMIN_PORT: '0', MEDIAGEN_ADMIN_GRPC_PORT: '0', MEDIAGEN_ROLES: 'api' }

/** What of the operators' things answers at a pair of addresses, to a key that may do everything. */
async function look(app: TestApp, httpUrl: string, grpcUrl: string) {
  const key = await app.createKey(app.account.accountId, permissions)
  const headers = { authorization: `Bearer ${key}` }
  const call = (service: Promise<unknown>): Promise<unknown> =>
    service.then(
      () => 'ok',
      (error) => error.rawMessage,
    )
  const statusOf = async (path: string) => (await fetch(httpUrl + path, { headers })).status
  const connect = createConnectTransport({ baseUrl: httpUrl, httpVersion: '1.1' })
  const grpc = createGrpcTransport({ baseUrl: grpcUrl })
  using reflection = openReflection(new URL(grpcUrl).host)
  return {
    metrics: await statusOf('/metrics'),
    console: await readConsole(httpUrl),
    health: [await statusOf('/healthz'), await statusOf('/readyz')],
    rest: await statusOf('/v1/wallet'),
    connect: await call(createClient(AdminService, connect).listAccounts({}, { headers })),
    grpc: await call(createClient(AdminService, grpc).listAccounts({}, { headers })),
    others: await call(createClient(WalletService, grpc).getWallet({}, { headers })),
    reflection: await reflection.listServices().then(
      (names) => names.includes('mediagen.v1.AdminService'),
      (error) => String(error.details),
    ),
  }
}

/** The statuses of the operator's console and of what it loads, as a browser without a key asks for them. */
async function readConsole(url: string): Promise<number[]> {
  const page = await fetch(`${url}/admin`)
  const names = [...(await page.text()).matchAll(/(?:href|src)="(\/admin\/[^"]+)"/g)].map(([, name = '']) => name)
  const files = await Promise.all(names.map((name) => fetch(url + name)))
  return [page.status, ...files.map(({ status }) => status)]
}

const open = {
  metrics: 200,
  console: [200, 200, 200],
  health: [200, 200],
  connect: 'ok',
  grpc: 'ok',
  others: 'ok',
  reflection: true,
}
const closed = {
  metrics: 404,
  console: [404],
  health: [200, 200],
  rest: 200,
  connect: 'HTTP 404',
  grpc: expect.stringMatching(/unimplemented|not implement|unknown method/i),
  others: 'ok',
  reflection: expect.stringMatching(/unimplemented|not implement|unknown method/i),
}

test('on loopback all of it is on the public ports', async () => {
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
  expect(await look(app, app.app.httpUrl, app.app.grpcUrl ?? '')).toEqual({ ...open, rest: 200 })
  expect([app.app.adminUrl, app.app.adminGrpcUrl]).toEqual([null, null])
})

test('P325 the files of the console are not to be had where it is not served', async () => {
  await using app = await startTestApp({ ...ownPorts, MEDIAGEN_ROLES: 'api' })
  const { httpUrl, adminUrl } = app.app
  const page = await (await fetch(`${adminUrl}/admin`)).text()
  const [, script = ''] = /src="\/admin\/([^"]+)"/.exec(page) ?? []
  const ask = async (url: string | null, path: string) => (await fetch(`${url}${path}/${script}`)).status
  expect(await ask(adminUrl, '/admin')).toBe(200)
  expect([await ask(httpUrl, '/admin'), await ask(httpUrl, '/console'), await ask(adminUrl, '/console')]).toEqual([
    404, 404, 404,
  ])
})

test('a server that other machines can reach does not serve it, and the log says how to switch it on', async () => {
  const { log, lines } = keepLog()
  await using app = await startTestApp(everywhere, { log })
  expect(await look(app, app.app.httpUrl, app.app.grpcUrl ?? '')).toEqual(closed)
  expect(lines.filter(({ level }) => level === 40)).toMatchObject([
    { host: '0.0.0.0', msg: expect.stringMatching(/MEDIAGEN_ADMIN_PORT.*MEDIAGEN_ADMIN_GRPC_PORT/) },
  ])
  const { paths } = (await app.send('/openapi.json')).body
  expect(paths).toHaveProperty('/healthz')
  expect(paths).not.toHaveProperty('/metrics')
  expect((await app.send('/metrics')).body).toMatchObject({ code: 'route_not_found' })
})

test.each(['127.0.0.1', '0.0.0.0'])(
  'MEDIAGEN_ADMIN_PORT and MEDIAGEN_ADMIN_GRPC_PORT take all of it from the public ports of %s',
  async (host) => {
    const { log, lines } = keepLog()
    await using app = await startTestApp({ ...ownPorts, ...publicUrl, MEDIAGEN_HOST: host }, { log })
    const { httpUrl, grpcUrl, adminUrl, adminGrpcUrl } = app.app
    expect(await look(app, httpUrl, grpcUrl ?? '')).toEqual(closed)
    expect(adminUrl).toMatch(/^http:\/\/127\.0\.0\.1:/)
    expect(await look(app, adminUrl ?? '', adminGrpcUrl ?? '')).toEqual({ ...open, rest: 404 })
    expect(lines.find(({ msg }) => msg === 'ready')).toMatchObject({ admin: adminUrl, admin_grpc: adminGrpcUrl })
    expect(lines.some(({ level }) => level === 40)).toBe(false)
    using client = await openForeignClient(adminGrpcUrl, await app.createKey(app.account.accountId, ['admin']))
    expect((await client.call('AdminService/ListAccounts', {})).total).toBe(1)
  },
)

test('one of the two ports alone opens one door and closes the public ones', async () => {
  await using app = await startTestApp({ MEDIAGEN_ADMIN_PORT: '0', MEDIAGEN_ROLES: 'api' })
  expect(await look(app, app.app.httpUrl, app.app.grpcUrl ?? '')).toEqual(closed)
  expect((await fetch(`${app.app.adminUrl}/metrics`)).status).toBe(200)
  expect(app.app.adminGrpcUrl).toBeNull()
})

test('a key without the permission admin is refused there, too', async () => {
  await using app = await startTestApp(ownPorts)
  using client = await openForeignClient(app.app.adminGrpcUrl, app.account.key)
  expect(await client.refusal('AdminService/ListAccounts', {})).toMatchObject({
    detail: { code: 'missing_permission' },
  })
  expect(await client.refusal('AdminService/ListAccounts', {}, { key: null })).toMatchObject({
    detail: { code: 'authentication_required' },
  })
})

/** What another server of this process needs beside the settings of a server under test. */
const createParts = () => ({ log: keepLog().log, builtin: null, engines: [createGateEngine()] })

test('a pure worker and a pure gateway have their metrics there, too', async () => {
  await using app = await startTestApp(ownPorts)
  const statusOf = async (url: string) => (await fetch(`${url}/metrics`)).status
  for (const difference of [{ roles: new Set(['worker'] as const) }, { coreUrl: app.app.grpcUrl }]) {
    await using other = await startApp({ ...app.config, ...difference }, createParts())
    expect([await statusOf(other.httpUrl), await statusOf(other.adminUrl ?? '')]).toEqual([404, 200])
    // They serve no AdminService.
    expect(await Promise.all([other.httpUrl, other.adminUrl ?? ''].map(readConsole))).toEqual([[404], [404]])
    expect(other.adminGrpcUrl).toBeNull()
  }
})

test('a port that cannot be had is named by its setting', async () => {
  await using app = await startTestApp(ownPorts)
  const taken = Number(new URL(app.app.adminUrl ?? '').port)
  await expect(startApp({ ...app.config, adminPort: taken }, createParts())).rejects.toThrow(/MEDIAGEN_ADMIN_PORT/)
  await expect(
    startApp({ ...app.config, adminGrpcPort: Number(new URL(app.app.adminGrpcUrl ?? '').port) }, createParts()),
  ).rejects.toThrow(/MEDIAGEN_ADMIN_GRPC_PORT/)
})

test('the ports are checked, and empty for none', () => {
  expect(readConfig({})).toMatchObject({ adminHost: '127.0.0.1', adminPort: null, adminGrpcPort: null })
  expect(readConfig({ MEDIAGEN_ADMIN_PORT: '9100' })).toMatchObject({ adminPort: 9100 })
  for (const wrong of ['x', '65536', '-1', '1.5'])
    expect(() => readConfig({ MEDIAGEN_ADMIN_PORT: wrong }), wrong).toThrow('must be a port, 0 to 65535')
})

test.each([
  ['127.0.0.1', true],
  ['127.1.2.3', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['localhost', true],
  ['LOCALHOST', true],
  ['0.0.0.0', false],
  ['::', false],
  ['10.0.0.5', false],
  ['203.0.113.9', false],
  ['localhost.example.com', false],
  ['', false],
])('a server on "%s" is reached by this machine alone: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected)
})
