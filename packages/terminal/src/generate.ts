// mediagen generate: from a prompt to a file, the price first.
import { randomUUID } from 'node:crypto'
import type { GenerateOptions, Job } from '@mediagen/client/client.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { StartupError } from '@mediagen/core/errors.ts'
import type { Printed } from './print.ts'
import { buildInput, type InputOptions } from './input.ts'
import { writeOutputs } from './outputs.ts'
import { createProgress } from './progress.ts'
import { explain, type UserContext, withServer } from './server.ts'

interface Options extends InputOptions {
  readonly output?: string
  readonly maxCredits?: number
  readonly detach?: boolean
  readonly idempotencyKey?: string
  readonly json?: boolean
}

/** Adds the commands that follow a job. */
export function addGenerateCommands(program: Command): void {
  program
    .command('generate <model>')
    .description('Generate a picture, a video or a sound on a server, and write it to a file')
    .option('-p, --prompt <text>', 'the prompt')
    .option('--input <file>', 'JSON file with the input; - for standard input')
    .option('--set <name=value>', 'one value of the input; name=@file uploads a file (repeatable)', collect, [])
    .option('-o, --output <file>', 'where to write the output; - for standard output')
    .option('--max-credits <credits>', 'start nothing that costs more', parseCount)
    .option('--wait', 'wait for the end (the default)')
    .option('--detach', 'print the job and do not wait for it')
    .option('--idempotency-key <key>', 'resume the generation that was started with this key, or start it')
    .action(withServer(runGenerate))
  program
    .command('watch <job_id>')
    .description('Wait for the end of a job, and write its outputs to files')
    .option('-o, --output <file>', 'where to write the output; - for standard output')
    .action(
      withServer(async (user, jobId: string, options: { output?: string }, _command: Command) =>
        finish(user, await follow(user, await user.client.job(jobId)), options.output),
      ),
    )
}

async function runGenerate(
  user: UserContext,
  model: string,
  options: Options,
  _command: Command,
): Promise<Printed | undefined> {
  const { client } = user
  const { maxCredits, detach = false, idempotencyKey = randomUUID(), output } = options
  const input = await buildInput(options, client)
  const quoted: GenerateOptions = {
    maxCredits,
    idempotencyKey,
    onQuote: ({ credits }) => void process.stderr.write(`${credits} ${credits === 1 ? 'credit' : 'credits'}\n`),
  }
  const job = await client.start(model, input, quoted)
  if (detach) return { job_id: job.job_id, status: job.status, credits: job.credits }
  return finish(user, await follow(user, job), output)
}

/** Waits for the end. SIGINT cancels the job, and says what was charged; a second one leaves it as it is. */
async function follow({ client }: UserContext, job: Job): Promise<Job> {
  const progress = createProgress()
  const left = new AbortController()
  let interrupted = false
  const interrupt = (): void => {
    if (interrupted) return left.abort()
    interrupted = true
    progress.end()
    process.stderr.write('canceling; press Ctrl-C again to leave the job as it is\n')
    client.cancel(job.job_id).catch(() => {})
  }
  process.on('SIGINT', interrupt)
  try {
    progress.show(job)
    return await client.follow(job.job_id, { onJob: progress.show, signal: left.signal })
  } catch (error) {
    if (!left.signal.aborted) throw error
    throw new StartupError(`The job goes on. mediagen watch ${job.job_id} waits for it.`)
  } finally {
    progress.end()
    process.off('SIGINT', interrupt)
  }
}

async function finish({ client }: UserContext, job: Job, output: string | undefined): Promise<Printed | undefined> {
  if (job.status !== 'succeeded') {
    const { charged } = job.billing
    const money = charged === 0 ? 'Nothing was charged.' : `${charged} credits were charged.`
    throw new StartupError(`${job.error?.message ?? `The job is ${job.status}.`} ${money} (${job.job_id})`)
  }
  const files = await explain(writeOutputs(client, job, output))
  if (output === '-') return undefined
  return { files, credits: job.billing.charged, job_id: job.job_id }
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}

function parseCount(written: string): number {
  if (!/^\d{1,15}$/.test(written)) throw new InvalidArgumentError('It must be a whole number of credits, 0 or more.')
  return Number(written)
}
