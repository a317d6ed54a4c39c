// mediagen generate --count, --vary: variations as one set, priced whole before the start, each with an idempotency key of its own.
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Input, type Job, type Json, mayPass, type Quote, Refused } from '@mediagen/client/client.ts'
import { repeat } from '@mediagen/client/follow.ts'
import { createIdempotencyKey } from '@mediagen/client/generate.ts'
import { isTerminal } from '@mediagen/client/records.ts'
import { largestSeed, mapSome, mostVariations, planVariations, setLabel } from '@mediagen/client/variations.ts'
import { StartupError } from '../../core/errors.ts'
import { escapeHidden } from '../../core/text/hidden-characters.ts'
import { explainInput } from './input-fields.ts'
import { askForSchema, buildInput, type GenerateOptions, type InputOptions, upload } from './input.ts'
import { type Interrupts, watchInterrupts } from './interrupts.ts'
import { checkOutput, writeOutputs } from './outputs.ts'
import { print, type Printed, say } from './print.ts'
import { createProgress } from './progress.ts'
import { readValue, type Schema } from './schema.ts'
import { explain, type UserContext } from './server.ts'
import { countCredits } from './words.ts'

/** One generation of a set. */
interface Variation {
  readonly input: Input
  /** The fields in which it differs. */
  readonly differs: Readonly<Record<string, Json>>
  readonly idempotencyKey: string
}

interface Priced extends Variation {
  /** Null if an earlier command with the same key started it. */
  readonly quote: Quote | null
}

/** What became of one: a job, or why there is none, or no output of it. */
interface Outcome {
  readonly job: Job | null
  readonly error: Error | null
  readonly files?: readonly string[]
  /** Whether a start without an answer may have arrived. */
  readonly isSent?: boolean
}

/** Whether the options ask for a set. */
export function asksForSet({ count = 1, vary = [] }: InputOptions): boolean {
  return count > 1 || vary.length > 0
}

/**
 * The price of a set.
 * @throws StartupError that names the option that is wrong
 */
export async function quoteSet(user: UserContext, model: string, options: InputOptions): Promise<Printed> {
  const planned = await planSet(user, model, options, createIdempotencyKey())
  const priced = await priceSet(user, model, options, planned, new AbortController().signal)
  return { generations: priced.length, credits: sumUp(priced) }
}

/**
 * Makes a set: a line for each, and a failure at the end if one has no output.
 * @throws StartupError if nothing was started, or one has no output
 */
export async function generateSet(user: UserContext, model: string, options: GenerateOptions): Promise<void> {
  const { output, detach = false, maxCredits = Number.POSITIVE_INFINITY } = options
  if (output === '-')
    throw new StartupError('Standard output takes only one output: give -o the name of a file, which gets a number.')
  if (!detach) await checkOutput(output)
  const key = options.idempotencyKey ?? createIdempotencyKey()
  using interrupts = watchInterrupts()
  const planned = await planSet(user, model, options, key)
  const priced = await priceSet(user, model, options, planned, interrupts.again)
  const credits = sumUp(priced)
  const before = priced.filter(({ quote }) => quote === null).length
  const already = before === 0 ? '' : ` (${before} started before)`
  if (credits > maxCredits) {
    const words = `These ${priced.length} cost ${countCredits(credits)}, which is more than the limit of ${maxCredits}.`
    throw new StartupError(`${words} Nothing was started.`)
  }
  await checkBalance(user, credits)
  if (interrupts.requested()) throw new StartupError('Nothing was started.')
  say(`${priced.length} generations${already}, ${countCredits(credits)}\n`, process.stderr)
  const outcomes = await startSet(user, model, options, { priced, key, interrupts })
  const ended = detach ? outcomes : await followSet(user, outcomes, output, interrupts)
  print(
    ended.map((outcome, index) => toRow(outcome, priced[index] as Priced)),
    options.json,
    { columns: ['variation', 'status', detach ? 'job_id' : 'files', 'credits'] },
  )
  const missed = ended.filter(({ error }) => error !== null)
  for (const [index, { job, error }] of ended.entries())
    if (error)
      say(
        `${index + 1}/${ended.length} ${escapeHidden(error.message)}${job ? ` (${job.job_id})` : ''}\n`,
        process.stderr,
      )
  if (missed.some(({ isSent }) => isSent))
    say(`The same command with --idempotency-key ${key} resumes these and pays once.\n`, process.stderr)
  if (missed.some(({ job }) => job !== null && !isTerminal(job)))
    say('Jobs that have not ended go on; “mediagen watch JOB_ID” waits for one.\n', process.stderr)
  if (missed.length > 0)
    throw new StartupError(`${missed.length} of ${ended.length} have no ${detach ? 'job' : 'output'}.`)
}

/** The inputs of a set. The same command with the same key has the same ones. */
async function planSet(
  { client }: UserContext,
  model: string,
  options: InputOptions,
  key: string,
): Promise<readonly Variation[]> {
  const { count = 1, vary = [] } = options
  const schema = await askForSchema(model, client)
  const values = new Map<string, readonly Json[]>()
  for (const varied of vary) {
    const [, name = '', written = ''] = /^([^=]+)=(.*)$/s.exec(varied) ?? []
    if (name === '' || name.endsWith('+'))
      throw new StartupError(`--vary ${varied} must have the form name=value,value.`)
    if (values.has(name)) throw new StartupError(`--vary ${varied} is the second one of ${name}.`)
    const items = splitValues(written).map((item) => (typeof item === 'string' ? readItem(schema, name, item) : item))
    if (items.includes('')) throw new StartupError(`--vary ${varied} has an empty value.`)
    if (items.some((item, index) => items.findIndex((other) => isDeepStrictEqual(item, other)) !== index))
      throw new StartupError(`--vary ${varied} has a value twice.`)
    values.set(name, items)
  }
  const seed = findSeed(schema)
  if (count > 1 && values.has('seed')) throw new StartupError('Either --count or --vary seed=… chooses the seeds.')
  if (count > 1 && schema.properties && !seed)
    throw new StartupError(`--count takes several seeds, and ${model} has no seed; --vary varies another field.`)
  const total = [...values.values()].reduce((product, { length }) => product * length, count)
  if (total > mostVariations) throw new StartupError(`That makes ${total}; at most ${mostVariations} go together.`)
  const input = await buildInput(model, options, client)
  const uploaded = new Map<string, readonly Json[]>()
  for (const [name, items] of values) {
    const ready: Json[] = []
    for (const item of items) ready.push(isFile(item) ? await upload(item.slice(1), client) : item)
    uploaded.set(name, ready)
  }
  const inputs = planVariations(input, { seeds: count, values: uploaded }, chooseSeed(seed ?? {}, count, key))
  const names = [...values.keys(), ...(count > 1 ? ['seed'] : [])]
  const written = planVariations(input, { seeds: 1, values }, 0)
  return inputs.map((one, index) => {
    const asWritten: Input = { ...written[Math.floor(index / count)], ...(count > 1 && { seed: one['seed'] ?? null }) }
    const differs = Object.fromEntries(names.map((name) => [name, asWritten[name] ?? null]))
    return { input: one, differs, idempotencyKey: `${key}-${index + 1}` }
  })
}

/** A list of JSON, or texts between commas. */
function splitValues(written: string): readonly Json[] {
  try {
    const list = JSON.parse(written) as Json
    if (Array.isArray(list)) return list
  } catch {
    // Texts.
  }
  return written.split(',')
}

function readItem(schema: Schema, name: string, item: string): Json {
  return isFile(item) ? item : readValue(schema, [name], false, item)
}

const isFile = (item: Json): item is string => typeof item === 'string' && item.startsWith('@')

function findSeed({ properties = {} }: Schema): Schema | undefined {
  return Object.hasOwn(properties, 'seed') ? properties['seed'] : undefined
}

/** The first seed where the input has none: from the key, so that a command that resumes has the same ones. */
function chooseSeed({ minimum = 0, maximum = largestSeed }: Schema, count: number, key: string): number {
  const choices = Math.max(1, Math.min(maximum, minimum + largestSeed) - count - minimum + 2)
  return minimum + (createHash('sha256').update(key).digest().readUInt32BE() % choices)
}

async function priceSet(
  { client }: UserContext,
  model: string,
  options: InputOptions & Pick<GenerateOptions, 'idempotencyKey'>,
  planned: readonly Variation[],
  signal: AbortSignal,
): Promise<readonly Priced[]> {
  return mapSome(planned, async (one) => {
    // A key of this command itself was never used.
    const earlier = options.idempotencyKey === undefined ? null : await findEarlier(client, one.idempotencyKey, signal)
    if (earlier) return { ...one, quote: null }
    const quote = await repeat(() => client.quote(model, one.input, signal), signal).catch((error: unknown) =>
      explainInput(error, model, one.input, options),
    )
    return { ...one, quote }
  })
}

async function findEarlier(client: UserContext['client'], key: string, signal: AbortSignal): Promise<Job | null> {
  try {
    const { data } = await repeat(() => client.jobs({ idempotency_key: key }), signal)
    return data[0] ?? null
  } catch (error) {
    // A key that may start jobs and not read them: the server finds out.
    if (error instanceof Refused && error.code === 'missing_permission') return null
    throw error
  }
}

const sumUp = (priced: readonly Priced[]): number => priced.reduce((sum, { quote }) => sum + (quote?.credits ?? 0), 0)

/** Refuses a set that would begin and run out of credits. */
async function checkBalance({ client }: UserContext, credits: number): Promise<void> {
  const wallet = await client.wallet().catch((error: unknown) => {
    // Not every key may read it; the starts say what is wrong otherwise.
    if (error instanceof Refused) return null
    throw error
  })
  if (wallet && wallet.available < credits)
    throw new StartupError(
      `These cost ${countCredits(credits)}, and ${countCredits(wallet.available)} are available. Nothing was started.`,
    )
}

interface Starting {
  readonly priced: readonly Priced[]
  readonly key: string
  readonly interrupts: Interrupts
}

/** Starts all of them; one that cannot be started does not keep the others. Ctrl-C cancels what has started, and starts no more. */
async function startSet(
  { client }: UserContext,
  model: string,
  options: GenerateOptions,
  { priced, key, interrupts }: Starting,
): Promise<readonly Outcome[]> {
  const { label, webhookUrl } = options
  const labels = { [setLabel]: key, ...label }
  const started: Job[] = []
  interrupts.onFirst(() => {
    say('canceling; press Ctrl-C again to stop waiting\n', process.stderr)
    void mapSome(started, cancel)
  })
  async function cancel({ job_id }: Job): Promise<void> {
    await repeat(() => client.cancel(job_id), interrupts.again).catch((error: unknown) => {
      if (mayPass(error)) say(`${job_id} could not be canceled, and goes on\n`, process.stderr)
    })
  }
  return mapSome(priced, async ({ input, quote, idempotencyKey }): Promise<Outcome> => {
    if (interrupts.requested()) return { job: null, error: new StartupError('Not started.') }
    const terms = { idempotencyKey, labels, webhookUrl, signal: interrupts.again }
    // Without a quote it looks for what the key has started; it never costs more than was said.
    const own = options.idempotencyKey !== undefined
    const price = own ? { maxCredits: quote?.credits } : { quote: quote ?? undefined }
    try {
      const job = await client.start(model, input, { ...terms, ...price })
      if (interrupts.requested()) void cancel(job)
      started.push(job)
      return { job, error: null }
    } catch (error) {
      const { aborted } = interrupts.again
      const isSent = aborted || mayPass(error)
      return { job: null, error: aborted ? new StartupError('It may have been started.') : (error as Error), isSent }
    }
  })
}

/** Waits for each in turn, and writes its outputs as soon as it is its turn. */
async function followSet(
  { client, login }: UserContext,
  outcomes: readonly Outcome[],
  output: string | undefined,
  { again }: Interrupts,
): Promise<readonly Outcome[]> {
  const ended: Outcome[] = []
  for (const [index, outcome] of outcomes.entries()) {
    const { job: started } = outcome
    if (!started) {
      ended.push(outcome)
      continue
    }
    const progress = createProgress(process.stderr, `${index + 1}/${outcomes.length} `)
    let job = started
    try {
      progress.show(started)
      job = await client.follow(started.job_id, { onJob: progress.show, signal: again })
      progress.end()
      if (job.status === 'succeeded') {
        const files = await explain(writeOutputs(client, job, numberFile(output, index, outcomes.length)), login)
        ended.push({ job, error: null, files })
      } else ended.push({ job, error: new StartupError(job.error?.message ?? `The job is ${job.status}.`) })
    } catch (error) {
      ended.push({ job, error: error as Error })
    } finally {
      progress.end()
    }
  }
  return ended
}

/** `fox.png` as `fox-03.png`, the third of thirty. */
function numberFile(output: string | undefined, index: number, total: number): string | undefined {
  const number = String(index + 1).padStart(String(total).length, '0')
  return output?.replace(/(\.[^./]*)?$/, `-${number}$1`)
}

function toRow({ job, error, files = [], isSent = false }: Outcome, { differs }: Priced): Printed {
  return {
    variation: differs,
    status: job?.status ?? (isSent ? 'unknown' : 'not_started'),
    files,
    credits: job === null ? 0 : isTerminal(job) ? job.billing.charged : job.credits,
    job_id: job?.job_id ?? null,
    error: error?.message ?? null,
  }
}
