// `demo`, which `npm start` runs: a server, an account with credits and a key, and a real picture made through the REST interface.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient, type Transport } from '@connectrpc/connect'
import type { Command } from 'commander'
import { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import type { App } from '../app/app.ts'
import { startApp } from '../app/start.ts'
import { findBuiltin } from '../app/builtin.ts'
import { type Config, readConfig } from '../config.ts'
import { StartupError } from '@mediagen/core/errors.ts'
import { pageBounds } from '@mediagen/core/page.ts'
import { permissions } from '@mediagen/core/key.ts'
import { openSecrets } from '../app/models.ts'
import { toPermissionCode } from '../services/convert.ts'
import { openLog, stopSignal } from './serve.ts'

const demoCredits = 1000n
// Below this the demo account gets new credits.
const leastCredits = 10n
const mostRetries = 5
// Where `mediagen` is.
const bin = join(import.meta.dirname, '../../bin')
const model = 'builtin/image/art/text-to-image'
const input = { prompt: 'mountain lake at dusk', style: 'auto', width: 1280, height: 800, format: 'png' }

/** The account and key of the demo; the key's text is kept in the data directory, readable by its owner only. */
interface DemoAccount {
  readonly account_id: string
  readonly key: string
}

interface JobRecord {
  readonly job_id: string
  readonly status: string
  readonly credits: number
  readonly outputs: readonly { readonly url: string; readonly width: number; readonly height: number }[]
  readonly error: { readonly message: string } | null
}

/** Adds the command. */
export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('Run the server with a demo account and make a first picture')
    .option('--once', 'exit after the picture')
    .option('--json', 'print one line of JSON')
    .action(async ({ once, json }: { once?: boolean; json?: boolean }) => {
      // The log must not bury the lines for people, so its default level is higher here.
      const config = readConfig({ ...process.env, MEDIAGEN_LOG_LEVEL: process.env['MEDIAGEN_LOG_LEVEL'] || 'warn' })
      if (!(await findBuiltin()))
        throw new StartupError(
          'The demo makes a picture with a model that ships, and those are not installed: run `npm ci`, or start the server with `mediagen serve`.',
        )
      const stopped = stopSignal()
      const secrets = openSecrets()
      await using app = await startApp(config, { secrets, log: openLog(config, secrets) })
      if (!app.operator) throw new StartupError('The demo needs a server of its own: unset MEDIAGEN_CORE_URL.')
      const demo = await openDemoAccount(app.httpUrl, config, app.operator)
      const { job, file } = await makePicture(app, config, demo.key)
      process.stdout.write(
        json
          ? `${JSON.stringify({ ...demo, http_url: app.httpUrl, grpc_url: app.grpcUrl, job_id: job.job_id, credits: job.credits, file })}\n`
          : describe(app, demo, job, file, once === true),
      )
      if (!once) await stopped
    })
}

/** The demo account of this data directory. It is created if there is none, or if its key no longer works. */
async function openDemoAccount(httpUrl: string, config: Config, operator: Transport): Promise<DemoAccount> {
  const file = join(config.dataDir, 'demo.json')
  const admin = createClient(AdminService, operator)
  const known = readDemoAccount(file)
  if (known && (await isKeyLive(httpUrl, known.key))) {
    await fillUp(admin, known.account_id)
    return known
  }
  const { account } = await admin.createAccount({ name: 'demo', credits: demoCredits })
  const accountId = account?.accountId ?? ''
  const { secret } = await admin.createKey({
    accountId,
    permissions: permissions.filter((permission) => permission !== 'admin').map(toPermissionCode),
  })
  const made = { account_id: accountId, key: secret }
  writeFileSync(file, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 })
  return made
}

async function isKeyLive(httpUrl: string, key: string): Promise<boolean> {
  const { status } = await ask(`${httpUrl}/v1/wallet`, { headers: { authorization: `Bearer ${key}` } })
  return status !== 401
}

/** Grants new credits to a demo account that has spent its own. */
async function fillUp(admin: Client<typeof AdminService>, accountId: string): Promise<void> {
  const { accounts } = await admin.listAccounts({ limit: pageBounds.largestLimit })
  const available = accounts.find((account) => account.accountId === accountId)?.available ?? demoCredits
  if (available < leastCredits) await admin.grantCredits({ accountId, credits: demoCredits, note: 'demo refill' })
}

function readDemoAccount(file: string): DemoAccount | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as DemoAccount
  } catch {
    return null
  }
}

/** Quotes, generates, waits and downloads over REST, as a client does. */
async function makePicture(app: App, config: Config, key: string): Promise<{ job: JobRecord; file: string }> {
  const post = async <Answer>(path: string, body: object, headers: Record<string, string> = {}): Promise<Answer> => {
    const response = await ask(app.httpUrl + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new StartupError(`POST ${path} answered ${response.status}: ${await readDetail(response)}`)
    return (await response.json()) as Answer
  }
  const { quote_id } = await post<{ quote_id: string }>('/v1/quotes', { model, input })
  const job = await post<JobRecord>(
    '/v1/generate?wait=true',
    { model, input, quote_id },
    { 'idempotency-key': crypto.randomUUID() },
  )
  const [output] = job.outputs
  if (!output)
    throw new StartupError(`The first picture ended as ${job.status}: ${job.error?.message ?? 'no reason was given'}`)
  const picture = await download(output.url)
  const folder = join(config.dataDir, 'demo')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${job.job_id}.png`)
  writeFileSync(file, picture)
  return { job, file: relative(process.cwd(), file) }
}

async function download(url: string): Promise<Buffer> {
  const advice = 'Set MEDIAGEN_PUBLIC_URL to the address of this server, or unset it.'
  const { origin, pathname } = new URL(url)
  try {
    const response = await ask(url)
    if (response.ok) return Buffer.from(await response.arrayBuffer())
    throw new StartupError(`The picture was made, but GET ${origin}${pathname} answered ${response.status}. ${advice}`)
  } catch (error) {
    if (error instanceof StartupError) throw error
    throw new StartupError(`The picture was made, but nothing answers at ${origin}. ${advice}`, { cause: error })
  }
}

/** Sends a request; after 429 it waits as long as the server says and repeats it. */
async function ask(url: string, init: RequestInit = {}): Promise<Response> {
  for (let left = mostRetries; ; left--) {
    const response = await fetch(url, init)
    if (response.status !== 429 || left === 0) return response
    await sleep(1000 * Number(response.headers.get('retry-after') ?? 1))
  }
}

/** The detail of a problem, on one line. */
async function readDetail(response: Response): Promise<string> {
  const text = await response.text()
  try {
    return (JSON.parse(text) as { detail?: string }).detail ?? text
  } catch {
    return text
  }
}

function describe(app: App, demo: DemoAccount, job: JobRecord, file: string, once: boolean): string {
  const [output] = job.outputs
  const made = `
A first picture was made, for ${job.credits} ${job.credits === 1 ? 'credit' : 'credits'}:

    ${file}  ${output?.width} x ${output?.height}
`
  if (once) return `${made}\n`
  return `${made}
Console   ${app.httpUrl}/#key=${demo.key}
REST      ${app.httpUrl}/v1    (${app.httpUrl}/openapi.json describes it)
gRPC      ${app.grpcUrl}
Account   ${demo.account_id}
API key   ${demo.key}

Paste this into another terminal to make a picture:

    export PATH="${bin}:$PATH" MEDIAGEN_URL=${app.httpUrl} MEDIAGEN_KEY=${demo.key}
    mediagen generate ${model} -p "aurora over the sea" -o aurora.png

The same by REST: list the models, ask for a quote, make it:

    auth="Authorization: Bearer $MEDIAGEN_KEY"
    json="Content-Type: application/json"
    curl -sS -w '\\n' -H "$auth" ${app.httpUrl}/v1/models
    quote=$(curl -sS -H "$auth" -H "$json" ${app.httpUrl}/v1/quotes \\
      -d '{"model":"${model}","input":{"prompt":"aurora over the sea"}}')
    echo "$quote"
    quote_id=$(echo "$quote" | grep -o 'quote_[^"]*' | tail -1)
    curl -sS -w '\\n' -H "$auth" -H "$json" -H "Idempotency-Key: aurora-$(date +%s)" "${app.httpUrl}/v1/generate?wait=true" \\
      -d '{"model":"${model}","input":{"prompt":"aurora over the sea"},"quote_id":"'$quote_id'"}'

And by gRPC, without a schema file:

    npx @bufbuild/buf curl --protocol grpc --http2-prior-knowledge -H "$auth" \\
      -d '{"model":"${model}","input":{"prompt":"aurora over the sea"}}' ${app.grpcUrl}/mediagen.v1.QuotesService/CreateQuote

Ctrl-C stops the server; what it made stays.
`
}
