// A whole server for tests: own data directory, free ports, the models of test/models, accounts and keys at hand.
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Client, createClient, createContextValues } from '@connectrpc/connect'
import { pino } from 'pino'
import { AdminService } from '../gen/mediagen/v1/admin_pb.ts'
import type { App, Overrides } from '../src/app/app.ts'
import { findBuiltin } from '../src/app/builtin.ts'
import { startApp } from '../src/app/start.ts'
import { type Config, readConfig } from '../src/config.ts'
import { type Permission, permissions } from '../src/core/accounts/key.ts'
import { toPermissionCode } from '../src/services/messages/convert.ts'
import { createGateEngine } from './gate-engine.ts'
import { createDataDir, storeSettings, threads } from './test-store.ts'

/** The models of most tests. */
export const testCatalog = ['models.yaml', 'gate.yaml']
  .map((name) => join(import.meta.dirname, 'models', name))
  .join(':')

/** What most tests use instead of the defaults; MEDIAGEN_TEST_GATEWAY=1 puts a gateway of its own in front, over gRPC. */
const testSettings = {
  MEDIAGEN_HTTP_PORT: '0',
  MEDIAGEN_GRPC_PORT: '0',
  MEDIAGEN_RATE_LIMIT: '0',
  MEDIAGEN_BYTE_RATE: '0',
  MEDIAGEN_STOP_GRACE_SECONDS: '0',
  // However few cores there are, and however much else they do.
  MEDIAGEN_PLACES: '4',
  MEDIAGEN_MAX_QUEUE_MS: '60000',
  MEDIAGEN_CATALOG: testCatalog,
}

/** For a server with the built-in models. Others start in half the time: their catalog is long. */
export const withBuiltin: Overrides = { builtin: await findBuiltin() }

/** An account with a key that may do everything but administer. */
export interface TestAccount {
  readonly accountId: string
  readonly key: string
}

/** A request to the server. */
export interface TestRequest {
  readonly method?: string
  /** API key; null for none. Default: that of `app.account`. */
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; a string is sent as it is, with the same content type. */
  readonly body?: unknown
}

/** An answer, its body parsed when it is JSON. */
export interface TestAnswer {
  readonly status: number
  readonly headers: Headers
  // Tests look into answers at will.
  readonly body: any
}

/** A quote as REST answers it. */
export interface QuoteRecord {
  readonly quote_id: string
  readonly model: string
  readonly credits: number
  readonly expires_at: string
}

/** A server under test. */
export interface TestApp extends AsyncDisposable {
  readonly app: App
  /** Where REST requests go: the server, or the gateway in front of it. */
  readonly url: string
  readonly admin: Client<typeof AdminService>
  /** An account with 1000 credits. */
  readonly account: TestAccount
  /** A folder that is removed afterwards. */
  readonly folder: string
  readonly config: Config
  createAccount(credits: number): Promise<TestAccount>
  createKey(accountId: string, permissions: readonly Permission[], expiresAtMs?: number): Promise<string>
  /** One HTTP request to the server. */
  send(path: string, request?: TestRequest): Promise<TestAnswer>
  quote(model: string, input: object, account?: TestAccount): Promise<QuoteRecord>
  /** Quotes and starts. */
  generate(
    model: string,
    input: object,
    options?: { wait?: boolean; account?: TestAccount; idempotencyKey?: string },
  ): Promise<TestAnswer>
  /** A gate for the model test/gate: jobs with this input end when it is opened. `begun` waits until the program runs. */
  gate(): { input: { gate: string }; begun(): Promise<void>; open(): void }
}

/** Waits until a file is there, as long as the test may take. */
export async function awaitFile(path: string): Promise<void> {
  while (!existsSync(path)) await setTimeout(10)
}

/** Starts a server; `await using app = await startTestApp()` ends it with the test. */
export async function startTestApp(
  settings: Readonly<Record<string, string>> = {},
  overrides: Overrides = {},
): Promise<TestApp> {
  await using started = new AsyncDisposableStack()
  const folder = started.adopt(mkdtempSync(join(tmpdir(), 'mediagen-test-')), (path) => {
    rmSync(path, { recursive: true, force: true })
  })
  // Forked processes may have a user of their own.
  chmodSync(folder, 0o711)
  const dataDir = settings['MEDIAGEN_DATA_DIR'] ?? join(folder, 'data')
  if (settings['MEDIAGEN_DATA_DIR'] === undefined) await createDataDir(dataDir)
  const config = readConfig({
    ...testSettings,
    MEDIAGEN_DATA_DIR: dataDir,
    ...(await storeSettings(dataDir)),
    ...settings,
  })
  const engines = [createGateEngine(), ...(overrides.engines ?? [])]
  const log = overrides.log ?? pino({ level: 'silent' })
  const app = started.use(await startApp(config, { builtin: null, threads, ...overrides, engines, log }))
  if (!app.operator || !app.grpcUrl) throw new Error('tests need a core')
  const gateway =
    process.env['MEDIAGEN_TEST_GATEWAY'] === '1'
      ? started.use(
          await startApp(readConfig({ ...testSettings, ...settings, MEDIAGEN_CORE_URL: app.grpcUrl }), { log }),
        )
      : null
  const url = gateway?.httpUrl ?? app.httpUrl
  const admin = createClient(AdminService, app.operator)
  const everyday = permissions.filter((permission) => permission !== 'admin')
  let gates = 0

  async function createKey(accountId: string, allowed: readonly Permission[], expiresAtMs?: number): Promise<string> {
    const expiresAt =
      expiresAtMs === undefined
        ? {}
        : { expiresAt: { seconds: BigInt(Math.floor(expiresAtMs / 1000)), nanos: (expiresAtMs % 1000) * 1_000_000 } }
    const { secret } = await admin.createKey(
      { accountId, permissions: allowed.map(toPermissionCode), ...expiresAt },
      { contextValues: createContextValues() },
    )
    return secret
  }

  async function createAccount(credits: number): Promise<TestAccount> {
    const { account } = await admin.createAccount({ name: 'test', credits: BigInt(credits) })
    const accountId = account?.accountId ?? ''
    return { accountId, key: await createKey(accountId, everyday) }
  }

  const account = await createAccount(1000)

  async function send(path: string, request: TestRequest = {}): Promise<TestAnswer> {
    const { key = account.key, body } = request
    const response = await fetch(url + path, {
      method: request.method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...request.headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      redirect: 'manual',
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body: /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : text,
    }
  }

  async function quote(model: string, input: object, payer: TestAccount = account): Promise<QuoteRecord> {
    const answer = await send('/v1/quotes', { key: payer.key, body: { model, input } })
    if (answer.status !== 200) throw new Error(`no quote: ${JSON.stringify(answer.body)}`)
    return answer.body as QuoteRecord
  }

  const running = started.move()
  return {
    app,
    url,
    admin,
    account,
    folder,
    config,
    createAccount,
    createKey,
    send,
    quote,
    async generate(model, input, options = {}) {
      const { wait = true, account: payer = account, idempotencyKey = crypto.randomUUID() } = options
      const { quote_id } = await quote(model, input, payer)
      return send(`/v1/generate?wait=${wait}`, {
        key: payer.key,
        headers: { 'idempotency-key': idempotencyKey },
        body: { model, input, quote_id },
      })
    },
    gate() {
      const file = join(folder, `gate-${++gates}`)
      return { input: { gate: file }, begun: () => awaitFile(`${file}.begun`), open: () => writeFileSync(file, '') }
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
