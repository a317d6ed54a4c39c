// The tools: what an agent can do with one account. Each is one or two calls of the client, and nothing else.
import type { Input, Job, MediagenClient } from '@mediagen/client/client.ts'
import { McpServer, type ServerContext, type StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import * as z from 'zod'
import manifest from '../package.json' with { type: 'json' }
import { toErrorFacts, toViolationFacts, unexpected } from './errors.ts'
import { createProgress } from './progress.ts'
import {
  type Facts,
  toFullJobFacts,
  toJobFacts,
  toJobRow,
  toLink,
  toModelDetailFacts,
  toModelFacts,
  toPageFacts,
} from './records.ts'

// Agents' clients give a call up after 60 seconds, unless told otherwise.
const usualWaitSeconds = 45
// A larger preview is a link only.
const mostPreviewBytes = 200_000

/** What the tools work with. */
export interface ToolParts {
  readonly client: MediagenClient
  /** How long wait_for_job may wait at most. */
  readonly waitSeconds: number
  /** No start costs more, whatever the agent allows. */
  readonly maxCredits: number
  /** Aborts when the caller is gone, besides what the protocol says of each call. */
  readonly signal?: AbortSignal
  /** Pauses between attempts of a start. */
  readonly pausesMs: readonly number[]
  /** Told what is a defect of this program. */
  readonly report: (error: unknown) => void
}

interface Answer {
  readonly facts: Facts
  /** The job whose outputs are linked. */
  readonly job?: Job
  /** Whether small pictures of the outputs are sent along. */
  readonly preview?: boolean | undefined
}

const instructions = `mediagen makes pictures, films, speech and music, and says the price in credits before it starts.
Work in this order: find_models, describe_model (for the schema of the input), quote, start_generation with max_credits, wait_for_job until the status is neither queued nor running.
Only success is charged. If a call of start_generation fails or times out, repeat it with the same idempotency_key and the same input: it never pays twice.
Outputs are resource links whose URLs expire. The URL of an output is also a valid input wherever a schema says "format": "media".`

const model = z.string().describe('Id of a model, such as acme/poster/text-to-image; find_models lists them.')
const input = z.looseObject({}).describe("The model's own input; describe_model has its schema.")
const jobId = z.string().describe('job_…')
const preview = z.boolean().optional().describe('Send a small picture of each output along. Default: false.')
const page = {
  limit: z.int().min(1).max(100).default(20),
  offset: z.int().min(0).default(0).describe('How many to skip.'),
}
const reads = { readOnlyHint: true, openWorldHint: false }

/** Creates a server with the tools, for one connection or one request. */
export function createToolServer(parts: ToolParts): McpServer {
  const { client, waitSeconds } = parts
  const server = new McpServer({ name: 'mediagen', title: 'mediagen', version: manifest.version }, { instructions })
  const add = createAdd(server, parts)

  add('find_models', {
    title: 'Find models',
    description: 'Lists models by words, and by category such as text-to-image, image-to-video or text-to-speech.',
    inputSchema: z.strictObject({
      search: z.string().optional().describe('Words that the model must have.'),
      category: z.string().optional(),
      ...page,
    }),
    annotations: reads,
    run: async (filters) => ({ facts: toPageFacts('models', await client.models(filters), toModelFacts) }),
  })
  add('describe_model', {
    title: 'Describe a model',
    description: 'Says what a model does and costs, and the JSON Schema of its input.',
    inputSchema: z.strictObject({ model }),
    annotations: reads,
    run: async (given) => ({ facts: toModelDetailFacts(await client.model(given.model)) }),
  })
  add('quote', {
    title: 'Quote',
    description: 'Says what a generation will cost at most, in credits. Costs nothing and starts nothing.',
    inputSchema: z.strictObject({ model, input }),
    annotations: reads,
    async run(given) {
      const { credits, expires_at } = await client.quote(given.model, given.input as Input)
      return { facts: { model: given.model, credits, expires_at } }
    },
  })
  add('start_generation', {
    title: 'Start a generation',
    description:
      'Starts a generation and answers with its job at once; call wait_for_job next. This spends credits: the quoted ones are held, and charged if it succeeds.',
    inputSchema: z.strictObject({
      model,
      input,
      max_credits: z.int().min(0).describe('Start nothing that costs more. Nothing is held then.'),
      idempotency_key: z
        .string()
        .regex(/^[\x21-\x7e]{1,255}$/)
        .describe(
          'A new unique text for each generation you want, such as a UUID; the same text again only to repeat a call whose answer you did not get.',
        ),
    }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    async run(given, { mcpReq }) {
      const signal = anyOf(mcpReq.signal, parts.signal)
      const maxCredits = Math.min(given.max_credits, parts.maxCredits)
      const { idempotency_key: idempotencyKey } = given
      const options = { maxCredits, idempotencyKey, signal, pausesMs: parts.pausesMs }
      const job = await client.start(given.model, given.input as Input, options)
      return { facts: toJobFacts(job), job }
    },
  })
  add('wait_for_job', {
    title: 'Wait for a job',
    description:
      'Waits until a job has ended, at most as long as you say, and answers with the job: its outputs, or what it is doing now. Call it again while the status is queued or running.',
    inputSchema: z.strictObject({
      job_id: jobId,
      seconds: z.int().min(1).max(waitSeconds).default(Math.min(usualWaitSeconds, waitSeconds)),
      preview,
    }),
    annotations: reads,
    async run(given, context) {
      const job = await wait(parts, given, context)
      return { facts: toJobFacts(job), job, preview: given.preview }
    },
  })
  add('get_job', {
    title: 'Read a job',
    description: 'Answers with a job as it is now: its status, input, outputs, and what was charged.',
    inputSchema: z.strictObject({ job_id: jobId, preview }),
    annotations: reads,
    async run(given) {
      const job = await client.job(given.job_id)
      return { facts: toFullJobFacts(job), job, preview: given.preview }
    },
  })
  add('list_jobs', {
    title: 'List jobs',
    description: "Lists the account's jobs, newest first.",
    inputSchema: z.strictObject({
      status: z.string().optional().describe('queued, running, succeeded, failed, canceled, expired or needs_review'),
      model: model.optional(),
      search: z.string().optional().describe('Words of their input.'),
      ...page,
    }),
    annotations: reads,
    run: async (filters) => ({ facts: toPageFacts('jobs', await client.jobs(filters), toJobRow) }),
  })
  add('cancel_job', {
    title: 'Cancel a job',
    description: 'Asks to cancel a job; its credits are released. A job that has ended stays as it is.',
    inputSchema: z.strictObject({ job_id: jobId }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    run: async (given) => ({ facts: toJobFacts(await client.cancel(given.job_id)) }),
  })
  add('get_wallet', {
    title: 'Read the wallet',
    description: 'Says how many credits are available, and how many are held for jobs under way.',
    inputSchema: z.strictObject({}),
    annotations: reads,
    run: async () => ({ facts: { ...(await client.wallet()) } }),
  })
  return server
}

interface Tool<Schema extends z.ZodType> {
  readonly title: string
  readonly description: string
  readonly inputSchema: Schema
  readonly annotations: object
  run(given: z.output<Schema>, context: ServerContext): Promise<Answer>
}

/**
 * Adds tools that answer with JSON, links and pictures; whatever they throw becomes the result of the call. Arguments are
 * checked here, because the SDK's own refusals have no code.
 */
function createAdd(server: McpServer, { client, report, signal }: ToolParts) {
  return <Schema extends z.ZodType>(name: string, { run, ...tool }: Tool<Schema>): void => {
    const { inputSchema } = tool
    const listed: StandardSchemaWithJSON = {
      '~standard': { ...inputSchema['~standard'], validate: (value) => ({ value }) },
    }
    server.registerTool(name, { ...tool, inputSchema: listed }, async (given: unknown, context) => {
      try {
        const checked = inputSchema.safeParse(given)
        if (!checked.success) return refuse(toViolationFacts(checked.error.issues))
        const { facts, job, preview: pictured } = await run(checked.data, context)
        const links = job?.outputs.flatMap((output, index) => toLink(job, output, index)) ?? []
        const pictures = job && pictured ? await loadPreviews(client, job) : []
        return { content: [toText(facts), ...links, ...pictures], structuredContent: facts }
      } catch (error) {
        const facts = toErrorFacts(error)
        if (facts === null && !anyOf(context.mcpReq.signal, signal).aborted) report(error)
        return refuse(facts ?? unexpected)
      }
    })
  }
}

function refuse(facts: Facts) {
  return { content: [toText({ error: facts })], structuredContent: { error: facts }, isError: true }
}

function toText(facts: Facts) {
  return { type: 'text' as const, text: JSON.stringify(facts) }
}

/** Waits for the end of a job; returns it as it is when the time is over or the caller is gone. */
async function wait(
  { client, signal: gone }: ToolParts,
  { job_id, seconds }: { job_id: string; seconds: number },
  { mcpReq }: ServerContext,
): Promise<Job> {
  const tell = createProgress(mcpReq)
  let last: Job | null = null
  const onJob = (job: Job): void => {
    last = job
    tell(job)
  }
  const signal = anyOf(mcpReq.signal, gone, AbortSignal.timeout(seconds * 1000))
  try {
    return await client.follow(job_id, { signal, onJob })
  } catch (error) {
    if (!signal.aborted) throw error
    return last ?? client.job(job_id)
  }
}

function anyOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined))
}

/** Small pictures of the outputs; what cannot be loaded is left out, as it is linked anyway. */
async function loadPreviews(client: MediagenClient, { outputs }: Job) {
  const loads = outputs.slice(0, 4).map(async ({ preview_url: url }) => {
    const picture = await client.download({ url })
    if (picture.size > mostPreviewBytes) return []
    const data = Buffer.from(await picture.arrayBuffer()).toString('base64')
    return [{ type: 'image' as const, mimeType: picture.type, data }]
  })
  return (await Promise.all(loads.map((load) => load.catch(() => [])))).flat()
}
