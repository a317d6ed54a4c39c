// `providers try`: a real run at each provider, in an installation of its own that is deleted afterwards. Its lines can be pasted
// into docs/what-was-run.md.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { createClient as createUser, type Job, type MediagenClient, Refused } from '@mediagen/client/client.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { AdminService } from '../../../gen/mediagen/v1/admin_pb.ts'
import type { App } from '../../app/app.ts'
import { readConfig } from '../../config.ts'
import { StartupError } from '../../core/errors.ts'
import { escapeHidden } from '../../core/text/hidden-characters.ts'
import { toPermissionCode } from '../../services/messages/convert.ts'
import { buildInput, type InputOptions } from '../user/input.ts'
import { type Interrupts, watchInterrupts } from '../user/interrupts.ts'
import { print } from '../user/print.ts'
import { findSchema, type Schema } from '../user/schema.ts'
import { countCredits } from '../user/words.ts'
import { withExample } from './common/examples.ts'
import { workHere } from './common/installation.ts'

const checkMs = 10_000
/** What the server that runs the models has in common with the operator's. */
const kept = ['MEDIAGEN_CATALOG', 'MEDIAGEN_MAX_OUTPUT_BYTES', 'FFMPEG_PATH', 'TMPDIR']

interface TryOptions extends InputOptions {
  readonly maxCredits: number
  readonly json?: boolean
}

/** A line of the answer. */
interface Tried {
  readonly provider: string
  readonly model: string
  /** `succeeded`, another status of a job, `fell_back` to another provider, `refused` or `skipped`. */
  readonly result: string
  readonly credits: number
  readonly seconds: number | null
  /** What was made, or what went wrong. */
  readonly detail: string
}

/** Adds the command. */
export function addTryCommand(providers: Command): void {
  const command = providers.command('try [models...]')
  withExample(workHere(command), '--max-credits 20')
    .description(
      'Run models of the catalog at their providers, for real money: those that are named, or the cheapest ready one of each provider; in a server of its own, which is deleted afterwards',
    )
    .requiredOption(
      '--max-credits <credits>',
      'what all runs may cost together, in credits of the catalog',
      readCredits,
    )
    .option('-p, --prompt <text>', 'prompt for all of them (default: the example of the model)')
    .option('-s, --set <name=value...>', 'one field of the input, for models that are named; name=@file for a file')
    .action(async (models: string[], options: TryOptions, { parent }: Command) => {
      const tried = await tryModels(models, options)
      if (options.json)
        print(
          tried.map((one) => ({ ...one })),
          true,
        )
      else process.stdout.write(toMarkdown(tried, findVersion(parent)))
      if (tried.length === 0 || tried.some(({ result }) => result !== 'succeeded')) process.exitCode = 1
    })
}

function readCredits(text: string): number {
  const credits = Number(text)
  if (!Number.isSafeInteger(credits) || credits < 1)
    throw new InvalidArgumentError('It must be a whole number of credits, at least 1.')
  return credits
}

async function tryModels(named: readonly string[], options: TryOptions): Promise<Tried[]> {
  const { checkProviders } = await import('../../app/operator/check-providers.ts')
  const reports = await checkProviders(readConfig(process.env), checkMs)
  const known = reports.flatMap(({ name, models }) => models.map((model) => ({ ...model, provider: name })))
  if (known.length === 0) throw new StartupError('No model of the catalog is at a provider: set MEDIAGEN_CATALOG.')
  for (const id of named)
    if (!known.some((model) => model.id === id))
      throw new StartupError(`No provider of the catalog has the model ${id}.`)
  const skip = (model: string, provider: string, detail: string): Tried => {
    return { provider, model, result: 'skipped', credits: 0, seconds: null, detail }
  }

  const folder = await mkdtemp(join(tmpdir(), 'mediagen-try-'))
  try {
    const { app, client } = await startServer(folder, options.maxCredits)
    await using _ = app
    using interrupts = watchInterrupts()
    const tried: Tried[] = []
    // What was started may have been billed, whatever became of it.
    let left = options.maxCredits
    for (const provider of new Set(known.map((model) => model.provider))) {
      const wanted = known.filter((one) => one.provider === provider && (named.length === 0 || named.includes(one.id)))
      const waiting = wanted.filter((one) => one.waits_for !== null)
      const ready = await Promise.all(
        wanted
          .filter((one) => one.waits_for === null)
          .map(async (one) => ({ one, plan: await plan(client, one.id, options) })),
      )
      const able = ready.flatMap(({ one, plan: found }) => (typeof found === 'string' ? [] : [{ one, ...found }]))
      const chosen = named.length > 0 ? able : able.toSorted((a, b) => a.credits - b.credits).slice(0, 1)
      // Without names, what cannot be run matters only where nothing can.
      if (named.length > 0 || chosen.length === 0) {
        for (const one of waiting) tried.push(skip(one.id, provider, one.waits_for ?? ''))
        for (const { one, plan: found } of ready)
          if (typeof found === 'string') tried.push(skip(one.id, provider, found))
      }
      for (const { one, input, credits } of chosen) {
        if (interrupts.requested()) return tried
        if (credits > left)
          tried.push(skip(one.id, provider, `costs ${countCredits(credits)}, and ${left} of --max-credits are left`))
        else {
          left -= credits
          tried.push(await tryModel(client, provider, one.id, input, interrupts))
        }
      }
    }
    return tried
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Starts a server on the loopback, with an account that has so many credits and no more. */
async function startServer(folder: string, credits: number): Promise<{ app: App; client: MediagenClient }> {
  const { openSecrets } = await import('../../app/models.ts')
  const { openLog, startApp } = await import('../../app/start.ts')
  const environment = Object.fromEntries(kept.map((name) => [name, process.env[name]]))
  const config = readConfig({
    ...environment,
    MEDIAGEN_DATA_DIR: folder,
    MEDIAGEN_HTTP_PORT: '0',
    MEDIAGEN_GRPC_PORT: '0',
    MEDIAGEN_LOG_LEVEL: 'error',
  })
  const secrets = openSecrets()
  const app = await startApp(config, { secrets, ...(await openLog(config, secrets)) })
  if (!app.operator) throw new Error('a server with a database has an operator')
  const admin = createClient(AdminService, app.operator)
  const { account } = await admin.createAccount({ name: 'try', credits: BigInt(credits) })
  const { secret } = await admin.createKey({
    accountId: account?.accountId ?? '',
    permissions: (['generate', 'jobs:read', 'models:read'] as const).map(toPermissionCode),
  })
  return { app, client: createUser({ url: app.httpUrl, key: secret }) }
}

type Planned = { readonly input: Record<string, never>; readonly credits: number }

/** The input of a model with its price, or why it cannot be run. */
async function plan(client: MediagenClient, model: string, options: TryOptions): Promise<Planned | string> {
  try {
    const schema = findSchema((await client.model(model)).openapi)
    const input = { ...fillIn(schema), ...(await buildInput(model, options, client)) } as Record<string, never>
    const missing = (schema.required ?? []).filter((name) => !(name in input))
    if (missing.length > 0) return describeMissing(missing, schema)
    return { input, credits: (await client.quote(model, input)).credits }
  } catch (error) {
    if (error instanceof Refused) return error.message
    throw error
  }
}

/** What the command needs of its caller: for the first of these fields, the option that says it. */
function describeMissing(missing: readonly string[], { properties = {} }: Schema): string {
  const [first = ''] = missing
  const value = properties[first]?.format === 'media' ? '@file' : '…'
  return `needs ${missing.join(', ')}: ${first === 'prompt' ? 'add -p …' : `name the model, with --set ${first}=${value}`}`
}

/** The fields that a model requires, as its schema shows them: an example, a default or a choice. */
function fillIn({ required = [], properties = {} }: Schema): Record<string, unknown> {
  const values = required.map((name) => {
    const { examples, default: usual, enum: choices } = properties[name] ?? {}
    return [name, usual ?? examples?.[0] ?? choices?.[0]] as const
  })
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

/** Runs a model; whatever goes wrong is its line. Ctrl-C cancels the job, and its end is waited for. */
async function tryModel(
  client: MediagenClient,
  provider: string,
  model: string,
  input: Planned['input'],
  interrupts: Interrupts,
): Promise<Tried> {
  const startedAt = performance.now()
  const end = (result: string, credits: number, detail: string): Tried => {
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10
    return { provider, model, result, credits, seconds, detail }
  }
  try {
    const { job_id: jobId } = await client.start(model, input)
    interrupts.onFirst(() => void client.cancel(jobId).catch(() => {}))
    const job = await client.follow(jobId, { signal: interrupts.again })
    if (job.error) return end(job.status, job.credits, `${job.error.code}: ${job.error.message}`)
    const sizes = await Promise.all(job.outputs.map(async (output) => (await client.download(output)).size))
    const made = job.outputs.map((output, at) => describe(output, sizes[at] ?? 0)).join('; ')
    if (job.served_by === provider) return end(job.status, job.credits, made)
    return end('fell_back', job.credits, `made by ${job.served_by}: ${made}`)
  } catch (error) {
    return end(error instanceof Refused ? 'refused' : 'unknown', 0, (error as Error).message)
  }
}

function describe(output: Job['outputs'][number], bytes: number): string {
  const { content_type: type, width, height, duration_seconds: seconds } = output
  const shape = [width && height && `${width} x ${height}`, seconds && `${seconds} s`].filter(Boolean).join(', ')
  return [type, shape, `${bytes} bytes`].filter(Boolean).join(', ')
}

function findVersion(command: Command | null): string {
  return command?.version() ?? (command ? findVersion(command.parent) : '')
}

function toMarkdown(tried: readonly Tried[], version: string): string {
  const day = new Date().toISOString().slice(0, 10)
  const cells = tried.map(({ provider, model, result, credits, seconds, detail }) => {
    const took = seconds === null ? '' : `${seconds} s`
    const words = escapeHidden(detail).replaceAll('|', '\\|')
    return [day, version, provider, model, result, countCredits(credits), took, words]
  })
  const head = ['Day', 'Version', 'Provider', 'Model', 'Result', 'Charged', 'Took', 'Made, or what went wrong']
  return [head, head.map(() => '---'), ...cells].map((row) => `| ${row.join(' | ')} |\n`).join('')
}
