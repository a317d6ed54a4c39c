// The other commands of users: wallet, usage, upload, files, and what there is.
import type { Job } from '@mediagen/client/client.ts'
import { type Command, Option } from 'commander'
import { jobStatuses } from '../../core/jobs/job.ts'
import { parsePageLimit } from './counts.ts'
import { openFile } from './input.ts'
import { addLogsCommand } from './logs.ts'
import { describeModel } from './model-page.ts'
import { checkOutput, writeBundle } from './outputs.ts'
import { type Printed, say } from './print.ts'
import { withServer } from './server.ts'
import { addSessionCommands } from './session.ts'
import { addUsageCommand } from './usage.ts'
import { addWebhookCommands } from './webhooks.ts'
import { describeOrigins } from './words.ts'

const defaultLimit = 20
const usualColumns = 80

/** Adds the commands. */
export function addUserCommands(program: Command): void {
  addSessionCommands(program)
  addModelCommands(program)
  addJobListCommand(program)
  program
    .command('wallet')
    .description('Show your credits: available, and held for running jobs')
    .action(withServer(async ({ client }, _options: object, _command: Command) => ({ ...(await client.wallet()) })))
  addUsageCommand(program)
  program
    .command('upload <file>')
    .description('Upload a picture, a video or a sound; its file_id is an input, as in --set image=file_…')
    .action(
      withServer(async ({ client }, path: string, _options: object, _command: Command) => {
        return { ...(await client.upload(await openFile(path))) }
      }),
    )
  addFileCommands(program)
  addJobCommands(program)
  addWebhookCommands(program)
}

function addModelCommands(program: Command): void {
  const models = program
    .command('models')
    .description('List the models of a server, or show one')
    .enablePositionalOptions()
    .option('--search <words>', 'only models with these words')
    .option('--limit <models>', 'number of models', parsePageLimit, defaultLimit)
    .option('--json', 'print JSON')
    .action(
      withServer(async ({ client }, { search, limit }: { search?: string; limit: number }, _command: Command) => {
        const { data } = await client.models({ search, limit })
        return data.map(({ id, category, pricing }) => ({ id, category, price: pricing.summary }))
      }),
    )
  models
    .command('show <model>')
    .description('Show what a model of a server takes and costs')
    .action(
      withServer(async ({ client }, id: string, options: { json?: boolean }, _command: Command) => {
        const model = await client.model(id)
        if (options.json) return { ...model }
        say(describeModel(model, process.stdout.columns || usualColumns))
      }),
    )
}

function addJobListCommand(program: Command): void {
  program
    .command('jobs')
    .description('List your jobs on a server')
    .enablePositionalOptions()
    .addOption(new Option('--status <status>', 'only jobs in this state').choices(jobStatuses))
    .option('--search <words>', 'only jobs with these words in their input')
    .option('--label <name:value>', 'only jobs with this label, such as team:ads')
    .option('--limit <jobs>', 'number of jobs', parsePageLimit, defaultLimit)
    .option('--json', 'print JSON')
    .action(
      withServer(
        async (
          { client },
          { status, search, label, limit }: { status?: string; search?: string; label?: string; limit: number },
          _command: Command,
        ) => {
          const { data } = await client.jobs({ status, search, label, limit })
          return data.map(({ job_id, status, model, credits, created_at, input }) => {
            // Most models take a prompt, the others a title or a text.
            const prompt = [input?.['prompt'], input?.['title'], input?.['text']].find((text) => text !== undefined)
            return { job_id, status, model, credits, created_at, prompt: typeof prompt === 'string' ? prompt : null }
          })
        },
      ),
    )
}

/** What users do with one job of theirs. */
function addJobCommands(program: Command): void {
  program
    .command('show <job_id>')
    .description('Show a job of yours: its state, its input, its outputs and what it cost')
    .action(
      withServer(async ({ client }, id: string, { json }: { json?: boolean }, _command: Command) => {
        const job = await client.job(id)
        if (json) return { ...job }
        return {
          job_id: job.job_id,
          status: job.status,
          model: job.model,
          queue_position: job.queue_position,
          credits: job.credits,
          created_at: job.created_at,
          started_at: job.started_at,
          finished_at: job.finished_at,
          deleted_at: job.deleted_at,
          labels: Object.entries(job.labels).map(([name, value]) => `${name}=${value}`),
          input: job.input && JSON.stringify(job.input),
          ...describeReproduction(job.reproduction),
          outputs: job.outputs.map(({ url }) => url ?? 'expired'),
          ...describeOrigins(job),
          error: job.error && `${job.error.code}: ${job.error.message}`,
        }
      }),
    )
  addLogsCommand(program)
  program
    .command('bundle <job_id>')
    .description('Download a job of yours that has ended as a zip archive: its record, its input and its files')
    .option('-o, --output <file>', 'where to write the archive; - for standard output')
    .action(
      withServer(async ({ client }, id: string, { output }: { output?: string }, _command: Command) => {
        await checkOutput(output)
        const file = await writeBundle(client, id, output)
        return file === null ? undefined : { file }
      }),
    )
  program
    .command('cancel <job_id>')
    .description('Cancel a job of yours; one that has ended stays as it is')
    .action(
      withServer(async ({ client }, id: string, _options: object, _command: Command) => {
        const { job_id, status, billing } = await client.cancel(id)
        return { job_id, status, charged: billing.charged }
      }),
    )
  program
    .command('delete <job_id>')
    .description('Delete the input and the outputs of a job of yours that has ended; what it cost stays on record')
    .action(
      withServer(async ({ client }, id: string, _options: object, _command: Command) => {
        await client.removeJob(id)
        return { deleted: id }
      }),
    )
}

function describeReproduction(reproduction: Job['reproduction']): Printed {
  if (!reproduction) return {}
  const { seed, version, engine, provider_model, not_guaranteed } = reproduction
  return { seed, version, engine, provider_model, not_guaranteed: not_guaranteed.map(({ detail }) => detail) }
}

function addFileCommands(program: Command): void {
  const files = program.command('files').description('List your uploads on a server, or delete one')
  files
    .command('list', { isDefault: true })
    .description('List your uploads, newest first')
    .option('--limit <files>', 'number of files', parsePageLimit, defaultLimit)
    .option('--json', 'print JSON')
    .action(
      withServer(async ({ client }, { limit, json }: { limit: number; json?: boolean }, _command: Command) => {
        const { data } = await client.files({ limit })
        return json
          ? data.map((file) => ({ ...file }))
          : data.map(({ file_id, content_type, bytes, created_at, expires_at }) => ({
              file_id,
              content_type,
              bytes,
              created_at,
              expires_at,
            }))
      }),
    )
  files
    .command('delete <file_id>')
    .description('Delete an upload; jobs that were started with it keep what they read')
    .action(
      withServer(async ({ client }, id: string, _options: object, _command: Command) => {
        await client.removeFile(id)
        return { deleted: id }
      }),
    )
}
