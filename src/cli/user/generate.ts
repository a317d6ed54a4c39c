// mediagen generate: from a prompt to a file, the price first.
import { type Input, type Job, mayPass, type Quote, Refused } from '@mediagen/client/client.ts'
import { createIdempotencyKey } from '@mediagen/client/generate.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { StartupError } from '../../core/errors.ts'
import { escapeHidden } from '../../core/text/hidden-characters.ts'
import { parseCount, parseSetCount } from './counts.ts'
import { asksForSet, generateSet, quoteSet } from './generate-set.ts'
import { explainInput } from './input-fields.ts'
import { buildInput, type GenerateOptions, type InputOptions } from './input.ts'
import { type Interrupts, watchInterrupts } from './interrupts.ts'
import { checkOutput, writeOutputs } from './outputs.ts'
import { type Printed, say } from './print.ts'
import { createProgress } from './progress.ts'
import { explain, type UserContext, withServer } from './server.ts'
import { countCredits, describeCharge, describeOrigins } from './words.ts'

// What made a job is not what would make it again.
const otherMaker: ReadonlySet<string> = new Set(['version_changed', 'engine_changed'])

/** Adds the commands that follow a job. */
export function addGenerateCommands(program: Command): void {
  const generate = program
    .command('generate <model>')
    .description('Generate a picture, a video or a sound on a server, and write it to a file')
  addMakeOptions(addInputOptions(generate)).action(withServer(runGenerate))
  addMakeOptions(
    program
      .command('again <job_id>')
      .description('Make what a job of yours made again: the same model and input, with its defaults and its seed'),
  )
    .option('--anyway', 'also if the model has another version now')
    .action(withServer(runAgain))
  addInputOptions(
    program.command('quote <model>').description('Show what a generation would cost; nothing is started or charged'),
  ).action(
    withServer(
      async (user, model: string, options: InputOptions & Pick<GenerateOptions, 'json'>, _command: Command) => {
        const { client } = user
        if (asksForSet(options)) return quoteSet(user, model, options)
        const input = await buildInput(model, options, client)
        const quote = await client
          .quote(model, input)
          .catch((error: unknown) => explainInput(error, model, input, options))
        if (options.json) return { ...quote }
        say(`${countCredits(quote.credits)}\n`)
      },
    ),
  )
  program
    .command('watch <job_id>')
    .description('Wait for the end of a job, and write its outputs to files')
    .option('-o, --output <file>', 'where to write the output; - for standard output, which takes only one')
    .action(
      withServer(async (user, jobId: string, options: { output?: string }, _command: Command) => {
        await checkOutput(options.output)
        const job = await user.client.job(jobId)
        using interrupts = watchInterrupts()
        return finish(user, await follow(user, job, interrupts), options.output)
      }),
    )
}

/** The options of a start, and of its outputs. */
function addMakeOptions(command: Command): Command {
  return command
    .option('-o, --output <file>', 'where to write the output; - for standard output, which takes only one')
    .option('--max-credits <credits>', 'do not start if it costs more', parseCount)
    .option('--label <name=value>', 'a label of the job, such as team=ads (repeatable)', addLabel)
    .option('--webhook-url <url>', 'where the server sends the end of the job by POST')
    .option('--wait', 'wait for the end (the default)')
    .option('--detach', 'print the job and do not wait for it')
    .option(
      '--idempotency-key <key>',
      'repeat safely: the same command with the same key resumes the job and pays once',
    )
}

/** The options that make an input. */
function addInputOptions(command: Command): Command {
  return command
    .option('-p, --prompt <text>', 'the prompt')
    .option('--input <file>', 'JSON file with the input; - for standard input')
    .option(
      '--set <name=value>',
      'one value of the input; name=@file uploads a file, name+=value adds to a list (repeatable)',
      collect,
    )
    .option('--count <seeds>', 'so many variations, each with a seed of its own, priced whole', parseSetCount)
    .option(
      '--vary <name=a,b>',
      'a variation for each value; with another --vary or --count, for each combination (repeatable)',
      collect,
    )
}

async function runGenerate(
  user: UserContext,
  model: string,
  options: GenerateOptions,
  _command: Command,
): Promise<Printed | undefined> {
  if (asksForSet(options)) {
    await generateSet(user, model, options)
    return undefined
  }
  return make(user, model, options, () => buildInput(model, options, user.client))
}

async function runAgain(
  user: UserContext,
  jobId: string,
  { anyway = false, ...options }: GenerateOptions & { readonly anyway?: boolean },
  _command: Command,
): Promise<Printed | undefined> {
  const { model, labels, reproduction } = await user.client.job(jobId)
  const { input, not_guaranteed: doubts = [] } = reproduction ?? {}
  for (const { detail } of doubts) say(`${escapeHidden(detail)}\n`, process.stderr)
  if (!input) throw new StartupError('The input of this job is gone, so it cannot be made again. Nothing was started.')
  if (!anyway && doubts.some(({ code }) => otherMaker.has(code)))
    throw new StartupError('Nothing was started; --anyway makes it all the same.')
  return make(user, model, { label: labels, ...options }, async () => input as Input)
}

/** Quotes, starts and waits, and writes the outputs to files. */
async function make(
  user: UserContext,
  model: string,
  options: GenerateOptions,
  findInput: () => Promise<Input>,
): Promise<Printed | undefined> {
  const { client } = user
  const {
    maxCredits,
    detach = false,
    idempotencyKey = createIdempotencyKey(),
    label: labels,
    webhookUrl,
    output,
  } = options
  if (!detach) await checkOutput(output)
  const input = await findInput()
  using interrupts = watchInterrupts()
  const { again: signal } = interrupts
  let sent = false
  const onQuote = ({ credits }: Quote): void => {
    if (interrupts.requested()) throw new StartupError('Nothing was started.')
    say(`${countCredits(credits)}\n`, process.stderr)
    sent = true
  }
  const start = async (): Promise<Job> => {
    // A server that does not answer is not waited for, as nothing can be lost yet.
    const quote = options.idempotencyKey === undefined ? await client.quote(model, input, signal) : undefined
    return client.start(model, input, { maxCredits, idempotencyKey, quote, labels, webhookUrl, signal, onQuote })
  }
  const job = await start().catch((error: unknown) => {
    if (sent && (mayPass(error) || signal.aborted))
      say(`The same command with --idempotency-key ${idempotencyKey} resumes this and pays once.\n`, process.stderr)
    if (signal.aborted)
      throw new StartupError(sent ? 'The job may have been started all the same.' : 'Nothing was started.')
    return explainInput(error, model, input, options)
  })
  if (detach) return { job_id: job.job_id, status: job.status, credits: job.credits }
  return finish(user, await follow(user, job, interrupts), output)
}

/** Waits for the end. The first Ctrl-C cancels the job, and the end says what was charged; the second one stops the wait. */
async function follow({ client }: UserContext, job: Job, { onFirst, again }: Interrupts): Promise<Job> {
  const progress = createProgress()
  onFirst(() => {
    progress.end()
    say('canceling; press Ctrl-C again to stop waiting\n', process.stderr)
    client.cancel(job.job_id).catch(() => {})
  })
  try {
    progress.show(job)
    return await client.follow(job.job_id, { onJob: progress.show, signal: again })
  } catch (error) {
    if (mayPass(error)) say(`“mediagen watch ${job.job_id}” waits for it again.\n`, process.stderr)
    else if (error instanceof Refused && error.code === 'missing_permission')
      say(`The job goes on; “mediagen watch ${job.job_id}” waits for it, with a key that may.\n`, process.stderr)
    if (!again.aborted) throw error
    throw new StartupError(`The job was asked to cancel. “mediagen watch ${job.job_id}” says what became of it.`)
  } finally {
    progress.end()
  }
}

async function finish(
  { client, login }: UserContext,
  job: Job,
  output: string | undefined,
): Promise<Printed | undefined> {
  if (job.status !== 'succeeded') {
    const words = job.error?.message ?? `The job is ${job.status}.`
    // The words about a review say that the credits are held, and whether they are charged is open.
    const charge = job.status === 'needs_review' ? '' : describeCharge(job.billing.charged, words)
    throw new StartupError(`${escapeHidden(words)}${charge} (${job.job_id})`)
  }
  const files = await explain(writeOutputs(client, job, output), login)
  if (output === '-') return undefined
  return { files, credits: job.billing.charged, job_id: job.job_id, ...describeOrigins(job) }
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

function addLabel(written: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const [, name = '', value = ''] = /^([^=]+)=(.+)$/s.exec(written) ?? []
  if (name === '') throw new InvalidArgumentError('It must be a name and a value, such as team=ads.')
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`There is a label "${escapeHidden(name)}" already.`)
  return { ...before, [name]: value }
}
