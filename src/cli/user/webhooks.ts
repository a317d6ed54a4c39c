// mediagen webhooks: endpoints of the account, and events forwarded to a program on this machine.
import { createHash, randomBytes } from 'node:crypto'
import { type Job, type ListOptions, type MediagenClient, mayPass, Refused } from '@mediagen/client/client.ts'
import { pause, repeat } from '@mediagen/client/follow.ts'
import { createHttp } from '@mediagen/client/http.ts'
import { type CreatedWebhook, isTerminal } from '@mediagen/client/records.ts'
import { mapSome } from '@mediagen/client/variations.ts'
import type { Command } from 'commander'
import { StartupError } from '../../core/errors.ts'
import { escapeHidden } from '../../core/text/hidden-characters.ts'
import { signWebhook, toWebhookBody, webhookHeaders } from '../../webhooks/signature.ts'
import { say } from './print.ts'
import { withServer } from './server.ts'

const secretPrefix = 'whsec_'
const secretBytes = 24
const lookMs = 1000
const pageSize = 500
// As long as a server waits.
const answerMs = 15_000

interface ListenOptions {
  readonly secret?: string
  readonly includeInput?: boolean
  readonly json?: boolean
}

/** Adds the commands. */
export function addWebhookCommands(program: Command): void {
  const webhooks = program.command('webhooks').description('Your webhook endpoints on a server')
  webhooks
    .command('create <url>')
    .description('Add a webhook endpoint; its secret is printed only this once')
    .option('--description <text>', 'a note of yours')
    .option('--include-input', 'messages carry the inputs of jobs')
    .action(
      withServer(
        async (
          { login },
          url: string,
          { description, includeInput }: { description?: string; includeInput?: boolean },
          _command: Command,
        ) => {
          const body = { url, ...(description && { description }), ...(includeInput && { include_input: true }) }
          return { ...(await createHttp(login).json<CreatedWebhook>('/v1/webhooks', { body })) }
        },
      ),
    )
  webhooks
    .command('listen <port-or-url>')
    .description(
      'Send the ends of your jobs to a program on this machine, signed as webhooks are, until Ctrl-C; the server needs no way to it',
    )
    .option('--secret <whsec>', 'what signs the messages; printed if it is missing')
    .option('--include-input', 'messages carry the inputs of jobs')
    .action(
      withServer(({ client }, to: string, options: ListenOptions, _command: Command) => listen(client, to, options)),
    )
  webhooks
    .command('rotate-secret <webhook_id>')
    .description('Give a webhook endpoint another secret; the one before it signs for a day more')
    .action(
      withServer(async ({ client }, webhookId: string, _options: object, _command: Command) => {
        const { webhook_id, secret, previous_secret_until } = await client.rotateWebhookSecret(webhookId)
        return { webhook_id, secret, previous_secret_until }
      }),
    )
}

/** Forwards until Ctrl-C. Each event is sent once: what fails is shown, and not sent again. */
async function listen(client: MediagenClient, to: string, options: ListenOptions): Promise<undefined> {
  const url = /^\d{1,5}$/.test(to) ? `http://127.0.0.1:${to}/` : to
  if (!/^https?:\/\/[^/]/.test(url) || !URL.canParse(url))
    throw new StartupError(`“${to}” must be a port of this machine or an address, such as http://127.0.0.1:3000/hooks.`)
  const secret = options.secret ?? secretPrefix + randomBytes(secretBytes).toString('base64')
  const key = readSecret(secret)
  const stopped = new AbortController()
  const stop = (): void => stopped.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    const watcher = await watchJobs(client)
    // One that was given is nobody else's business, such as that of a log.
    const shown = options.secret === undefined ? { secret } : {}
    say(
      options.json
        ? `${JSON.stringify({ url, ...shown })}\n`
        : `Events go to ${url}, signed with ${shown.secret ?? 'the secret that was given'}. Ctrl-C ends it.\n`,
    )
    while (!stopped.signal.aborted) {
      for (const job of await watcher.look()) {
        const status = await forward(job, { url, key, ...options })
        const event = { type: `job.${job.status}`, job_id: job.job_id, answer: status }
        say(
          options.json
            ? `${JSON.stringify(event)}\n`
            : `${event.type} ${event.job_id} → ${escapeHidden(String(status))}\n`,
        )
      }
      await pause(lookMs, stopped.signal).catch(() => {})
    }
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

/** The key of a secret as `POST /v1/webhooks` gives it. @throws StartupError */
function readSecret(secret: string): Buffer {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
  if (secret.startsWith(secretPrefix) && key.length >= secretBytes) return key
  throw new StartupError(`--secret must be ${secretPrefix} and the base64 of at least ${secretBytes} bytes.`)
}

/** Sends one message, and answers with the status, or why there is none. */
async function forward(
  job: Job,
  { url, key, includeInput = false }: { url: string; key: Buffer; includeInput?: boolean },
): Promise<number | string> {
  const { job_id, status, finished_at } = job
  const data = includeInput ? job : { ...job, input: null }
  const endedAtMs = finished_at === null ? Date.now() : Date.parse(finished_at)
  const body = toWebhookBody(`job.${status}` as `job.succeeded`, endedAtMs, data)
  // The same in each run of this command.
  const id = `dlv_${createHash('sha256').update(`${job_id} ${status}`).digest('hex').slice(0, 32)}`
  const headers = { ...webhookHeaders, ...signWebhook([key], id, Date.now(), body) }
  try {
    const signal = AbortSignal.timeout(answerMs)
    const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' })
    return answer.status
  } catch (error) {
    const { message, cause } = error as Error
    return cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code || message : message
  }
}

const changing = ['queued', 'running', 'needs_review'] as const

/** Looks for jobs that ended, or went under review, since it was made: by reading, as an account has no stream of its jobs. */
async function watchJobs(client: MediagenClient): Promise<{ look(): Promise<readonly Job[]> }> {
  const known = new Map<string, Job['status']>()
  const { data: newest } = await client.jobs({ limit: pageSize })
  for (const { job_id, status } of [...newest, ...(await readChanging(client))]) known.set(job_id, status)
  const since = newest[0]?.created_at ?? ''

  /** The newest jobs, down to one that is known. */
  const readNew = (): Promise<readonly Job[]> =>
    readPages(client, {}, (page) => page.some(({ job_id, created_at }) => known.has(job_id) || created_at < since))

  /** A job that may have ended; null if it is gone, or cannot be read now: the next look reads it. */
  async function readOne(id: string): Promise<Job | null> {
    try {
      return await repeat(() => client.job(id), undefined)
    } catch (error) {
      if (mayPass(error)) return null
      if (!(error instanceof Refused) || error.code !== 'job_not_found') throw error
      known.delete(id)
      return null
    }
  }

  return {
    async look() {
      try {
        const jobs = new Map<string, Job>()
        for (const job of [...(await readChanging(client)), ...(await readNew())]) jobs.set(job.job_id, job)
        const left = [...known].flatMap(([id, status]) =>
          (changing as readonly string[]).includes(status) && !jobs.has(id) ? id : [],
        )
        for (const job of await mapSome(left, readOne)) if (job) jobs.set(job.job_id, job)
        const ended: Job[] = []
        for (const job of jobs.values()) {
          const { job_id, status, created_at } = job
          // Older ones that were not read before had ended before.
          const isNews = known.has(job_id) ? known.get(job_id) !== status : created_at >= since
          known.set(job_id, status)
          if (isNews && isTerminal(job)) ended.push(job)
        }
        return ended.toSorted((a, b) => Date.parse(a.finished_at ?? '') - Date.parse(b.finished_at ?? '') || 0)
      } catch (error) {
        // The next look finds what ended meanwhile.
        if (mayPass(error)) return []
        throw error
      }
    },
  }
}

/** All jobs whose status may change. */
async function readChanging(client: MediagenClient): Promise<readonly Job[]> {
  const jobs: Job[] = []
  for (const status of changing) jobs.push(...(await readPages(client, { status })))
  return jobs
}

/** Reads a list to its end, or as far as it is wanted. */
async function readPages(
  client: MediagenClient,
  filter: ListOptions,
  isEnough: (page: readonly Job[]) => boolean = () => false,
): Promise<readonly Job[]> {
  const jobs: Job[] = []
  for (;;) {
    const offset = jobs.length
    const { data, has_more } = await repeat(() => client.jobs({ ...filter, limit: pageSize, offset }), undefined)
    jobs.push(...data)
    if (!has_more || isEnough(data)) return jobs
  }
}
