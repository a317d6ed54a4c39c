// `demo`, which `npm start` runs: a server, an account with credits and a key, and a real picture made through the REST interface.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type Client, createClient, type Transport } from '@connectrpc/connect'
import { createClient as createUser, type Job, type MediagenClient } from '@mediagen/client/client.ts'
import type { Command } from 'commander'
import { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import type { App } from '../app/app.ts'
import { findBuiltin } from '../app/builtin.ts'
import { type Config, readConfig } from '../config.ts'
import { permissions } from '../core/accounts/key.ts'
import { StartupError } from '../core/errors.ts'
import { pageBounds } from '../core/page.ts'
import { escapeHidden } from '../core/text/hidden-characters.ts'
import { toPermissionCode } from '../services/messages/convert.ts'
import { stopSignal } from './serve.ts'
import { explain } from './user/server.ts'
import { countCredits } from './user/words.ts'

const demoCredits = 1000n
// Below this the demo account gets new credits.
const leastCredits = 10n
const mostRetries = 5
// A server without work in hand has stopped before.
const notificationMs = 1000
// Where `mediagen` is.
const bin = join(import.meta.dirname, '../../bin')
const model = 'builtin/image/art/text-to-image'
const input = { prompt: 'mountain lake at dusk', style: 'auto', width: 1280, height: 800, format: 'png' }

/** The account and key of the demo; the key's text is kept in the data directory, readable by its owner only. */
interface DemoAccount {
  readonly account_id: string
  readonly key: string
}

interface DemoOptions {
  readonly once?: boolean
  readonly examples?: boolean
  readonly json?: boolean
}

/** The picture of this start, or of an earlier one. */
interface Picture {
  readonly job: Job
  readonly file: string
  readonly isNew: boolean
}

/** Adds the command. */
export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('Run the server with a demo account and make a first picture')
    .option('--once', 'exit after the picture')
    .option('--examples', 'print commands to paste, for the command line, REST and gRPC')
    .option('--json', 'print one line of JSON')
    .action(async (options: DemoOptions) => {
      const { once, json } = options
      // The log must not bury the lines for people, so its default level is higher here.
      const config = readConfig({ ...process.env, MEDIAGEN_LOG_LEVEL: process.env['MEDIAGEN_LOG_LEVEL'] || 'warn' })
      if (!(await findBuiltin()))
        throw new StartupError(
          'The demo makes a picture with a model that ships, and those are not installed: run `npm ci`, or start the server with `mediagen serve`.',
        )
      const stopped = stopSignal()
      const { openSecrets } = await import('../app/models.ts')
      const { openLog, startApp } = await import('../app/start.ts')
      const secrets = openSecrets()
      await using app = await startApp(config, { secrets, ...(await openLog(config, secrets, process.env)) })
      if (!app.operator) throw new StartupError('The demo needs a server of its own: unset MEDIAGEN_CORE_URL.')
      const demo = await openDemoAccount(app.httpUrl, config, app.operator)
      const picture = await showPicture(app, config, demo.key)
      const { job, file } = picture
      process.stdout.write(
        json
          ? `${JSON.stringify({ ...demo, http_url: app.httpUrl, grpc_url: app.grpcUrl, job_id: job.job_id, credits: picture.isNew ? job.credits : 0, file })}\n`
          : describe(app, demo, picture, options, await findReflection(app, config)),
      )
      if (once) return
      await stopped
      setTimeout(() => process.stderr.write(describeStop(config)), notificationMs).unref()
    })
}

function demoFile({ dataDir }: Config): string {
  return join(dataDir, 'demo.json')
}

/** The demo account of this data directory. It is created if there is none, or if its key no longer works. */
async function openDemoAccount(httpUrl: string, config: Config, operator: Transport): Promise<DemoAccount> {
  const file = demoFile(config)
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

/** Makes the picture over REST, as a client does, unless an earlier start did; writes it to a file. */
async function showPicture(app: App, config: Config, key: string): Promise<Picture> {
  const login = { url: app.httpUrl, key, source: demoFile(config) }
  const client = createUser({ ...login, fetch: ask })
  const earlier = await explain(findPicture(client), login)
  const job = earlier ?? (await explain(client.generate(model, input), login))
  const folder = join(config.dataDir, 'demo')
  const picture = await download(client, job)
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${job.job_id}.png`)
  writeFileSync(file, picture)
  return { job, file: relative(process.cwd(), file), isNew: earlier === undefined }
}

/** The job of an earlier start, if its file is still kept. */
async function findPicture(client: MediagenClient): Promise<Job | undefined> {
  const { data } = await client.jobs({ model, status: 'succeeded', search: input.prompt })
  return data.find((job) => isDeepStrictEqual(job.input, input) && job.outputs[0]?.url)
}

async function download(client: MediagenClient, { outputs: [output] }: Job): Promise<Buffer> {
  try {
    return Buffer.from(await (await client.download(output)).arrayBuffer())
  } catch (error) {
    const from = output?.url ? ` from ${new URL(output.url).origin}` : ''
    const advice = 'Set MEDIAGEN_PUBLIC_URL to the address of this server, or unset it.'
    throw new StartupError(`The picture was made, but cannot be downloaded${from}. ${advice}`, { cause: error })
  }
}

/** Sends a request; after 429 it waits as long as the server says and repeats it. */
async function ask(url: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  for (let left = mostRetries; ; left--) {
    const response = await fetch(url, init)
    if (response.status !== 429 || left === 0) return response
    await sleep(1000 * Number(response.headers.get('retry-after') ?? 1))
  }
}

function describeStop({ stopGraceSeconds }: Config): string {
  return `\nStopping. Work in hand has ${stopGraceSeconds} s to finish; what does not is made at the next start. Ctrl-C again stops at once.\n`
}

/** The gRPC port with reflection; null if there is none. */
async function findReflection({ grpcUrl, adminGrpcUrl }: App, config: Config): Promise<string | null> {
  const { locateAdmin } = await import('../app/doors/public-server.ts')
  return locateAdmin(config) === 'public' ? grpcUrl : adminGrpcUrl
}

function describe(
  app: App,
  demo: DemoAccount,
  { job, file, isNew }: Picture,
  { once = false, examples = false }: DemoOptions,
  reflectionUrl: string | null,
): string {
  const [output] = job.outputs
  const made = isNew
    ? `A first picture was made, for ${countCredits(job.credits)}`
    : 'The first picture, made by an earlier start; nothing was charged again'
  const picture = `${made}:\n\n    ${file}  ${output?.width} x ${output?.height}\n`
  if (once) return `\n${picture}\n`
  const waiting = app.waiting.map((line) => `${escapeHidden(line)}\n`).join('')
  return `
Console   ${app.httpUrl}/#key=${demo.key}

${picture}
${waiting && `${waiting}\n`}REST      ${app.httpUrl}/v1    (${app.httpUrl}/docs describes it)
gRPC      ${app.grpcUrl}
Account   ${demo.account_id}
API key   ${demo.key}

${examples ? describeExamples(app, demo, reflectionUrl) : 'For commands to paste, stop this and run: npm start -- --examples (without a clone: mediagen demo --examples)'}

Ctrl-C stops the server; what it made stays.
`
}

/** Commands for another terminal. */
function describeExamples({ httpUrl }: App, { key }: DemoAccount, reflectionUrl: string | null): string {
  const grpc = `
And by gRPC, without a schema file:

    npx @bufbuild/buf curl --protocol grpc --http2-prior-knowledge -H "$auth" \\
      -d '{"model":"${model}","input":{"prompt":"aurora over the sea"}}' ${reflectionUrl}/mediagen.v1.QuotesService/CreateQuote
`
  return `Paste this into another terminal to make a picture:

    export PATH="${bin}:$PATH" MEDIAGEN_URL=${httpUrl} MEDIAGEN_KEY=${key}
    mediagen generate ${model} -p "aurora over the sea" -o aurora.png

The same by REST: list the models, ask for a quote, make it:

    auth="Authorization: Bearer $MEDIAGEN_KEY"
    json="Content-Type: application/json"
    curl -sS -w '\\n' -H "$auth" ${httpUrl}/v1/models
    quote=$(curl -sS -H "$auth" -H "$json" ${httpUrl}/v1/quotes \\
      -d '{"model":"${model}","input":{"prompt":"aurora over the sea"}}')
    echo "$quote"
    quote_id=$(echo "$quote" | grep -o 'quote_[^"]*' | tail -1)
    curl -sS -w '\\n' -H "$auth" -H "$json" -H "Idempotency-Key: aurora-$(date +%s)" "${httpUrl}/v1/generate?wait=true" \\
      -d '{"model":"${model}","input":{"prompt":"aurora over the sea"},"quote_id":"'$quote_id'"}'
${reflectionUrl === null ? '' : grpc}`.trimEnd()
}
