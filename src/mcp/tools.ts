// The tools: what an agent can do with one account. Each is one or two calls of the client, and nothing else.
import type { Input, Job, MediagenClient } from '@mediagen/client/client.ts'
import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type CallToolResult,
  type ServerContext,
  type Tool as ListedTool,
} from '@modelcontextprotocol/server'
import * as z from 'zod'
import manifest from '../../package.json' with { type: 'json' }
import { abridgeText, toErrorFacts, toViolationFacts, unexpected } from './errors.ts'
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

// Agents' clients give a call up after 60 seconds, unless configured otherwise.
const usualWaitSeconds = 45
// A larger preview is a link only.
const mostPreviewBytes = 200_000

/** A tool, by its name: what clients read of it, and how it is called. */
export type Tools = ReadonlyMap<string, Tool>

interface Tool {
  readonly listed: ListedTool
  call(given: Facts, deps: ToolDeps, context: ServerContext): Promise<CallToolResult>
}

/** What the tools work with. */
export interface ToolDeps {
  readonly client: MediagenClient
  /** No start costs more, whatever the agent allows. */
  readonly maxCredits: number
  /** Aborts when the caller is gone, besides what the protocol says of each call. */
  readonly signal?: AbortSignal
  /** Pauses between attempts of a start. */
  readonly pausesMs: readonly number[]
  /** Called with each error that is a defect of this program. */
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

/** The tools, defined once for all servers and requests. @param waitSeconds how long wait_for_job may wait at most */
export function createTools(waitSeconds: number): Tools {
  const tools = new Map<string, Tool>()
  const add = createAdd(tools)

  add('find_models', {
    title: 'Find models',
    description: 'Lists models by words, and by category such as text-to-image, image-to-video or text-to-speech.',
    inputSchema: z.strictObject({
      search: z.string().optional().describe('Words that the model must have.'),
      category: z.string().optional(),
      ...page,
    }),
    annotations: reads,
    run: async (filters, { client }) => ({ facts: toPageFacts('models', await client.models(filters), toModelFacts) }),
  })
  add('describe_model', {
    title: 'Describe a model',
    description: 'Says what a model does and costs, and the JSON Schema of its input.',
    inputSchema: z.strictObject({ model }),
    annotations: reads,
    run: async (given, { client }) => ({ facts: toModelDetailFacts(await client.model(given.model)) }),
  })
  add('quote', {
    title: 'Quote',
    description: 'Says what a generation will cost at most, in credits. Costs nothing and starts nothing.',
    inputSchema: z.strictObject({ model, input }),
    annotations: reads,
    async run(given, { client }) {
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
      labels: z
        .record(z.string(), z.string())
        .optional()
        .describe('Labels that the job keeps, such as {"team": "ads"}; only if the user asks for them.'),
    }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    async run(given, deps, { mcpReq }) {
      const signal = anyOf(mcpReq.signal, deps.signal)
      const maxCredits = Math.min(given.max_credits, deps.maxCredits)
      const { idempotency_key: idempotencyKey, labels } = given
      const options = { maxCredits, idempotencyKey, labels, signal, pausesMs: deps.pausesMs }
      const job = await deps.client.start(given.model, given.input as Input, options)
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
    async run(given, deps, context) {
      const job = await wait(deps, given, context)
      return { facts: toJobFacts(job), job, preview: given.preview }
    },
  })
  add('get_job', {
    title: 'Read a job',
    description: 'Answers with a job as it is now: its status, input, outputs, and what was charged.',
    inputSchema: z.strictObject({ job_id: jobId, preview }),
    annotations: reads,
    async run(given, { client }) {
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
    run: async (filters, { client }) => ({ facts: toPageFacts('jobs', await client.jobs(filters), toJobRow) }),
  })
  add('cancel_job', {
    title: 'Cancel a job',
    description: 'Asks to cancel a job; its credits are released. A job that has ended stays as it is.',
    inputSchema: z.strictObject({ job_id: jobId }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    run: async (given, { client }) => ({ facts: toJobFacts(await client.cancel(given.job_id)) }),
  })
  add('get_wallet', {
    title: 'Read the wallet',
    description: 'Says how many credits are available, and how many are held for jobs under way.',
    inputSchema: z.strictObject({}),
    annotations: reads,
    run: async (_given, { client }) => ({ facts: { ...(await client.wallet()) } }),
  })
  return tools
}

/** Creates a server with the tools, for one connection or one request. */
export function createToolServer(tools: Tools, deps: ToolDeps): Server {
  const server = new Server(
    { name: 'mediagen', title: 'mediagen', version: manifest.version },
    { instructions, capabilities: { tools: {} } },
  )
  server.setRequestHandler('tools/list', () => ({ tools: [...tools.values()].map(({ listed }) => listed) }))
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = tools.get(params.name)
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${abridgeText(params.name)}.`)
    return server.projectCallToolResult(await tool.call(params.arguments ?? {}, deps, context), undefined)
  })
  return server
}

interface ToolDefinition<Schema extends z.ZodObject> {
  readonly title: string
  readonly description: string
  readonly inputSchema: Schema
  readonly annotations: object
  run(given: z.output<Schema>, deps: ToolDeps, context: ServerContext): Promise<Answer>
}

/**
 * Adds tools that answer with JSON, links and pictures; whatever they throw becomes the result of the call. Arguments are
 * checked here, because the SDK's own refusals have no code.
 */
function createAdd(tools: Map<string, Tool>) {
  return <Schema extends z.ZodObject>(name: string, definition: ToolDefinition<Schema>): void => {
    const { inputSchema, run, ...about } = definition
    const listed = { name, ...about, inputSchema: toListedSchema(inputSchema) }
    async function call(given: Facts, deps: ToolDeps, context: ServerContext): Promise<CallToolResult> {
      try {
        const checked = inputSchema.safeParse(dropNulls(given, inputSchema))
        if (!checked.success) return refuse(toViolationFacts(checked.error.issues))
        const { facts, job, preview: pictured } = await run(checked.data, deps, context)
        const links = job?.outputs.flatMap((output, index) => toLink(job, output, index)) ?? []
        const pictures = job && pictured ? await loadPreviews(deps.client, job) : []
        return { content: [toText(facts), ...links, ...pictures], structuredContent: facts }
      } catch (error) {
        const facts = toErrorFacts(error)
        if (facts === null && !anyOf(context.mcpReq.signal, deps.signal).aborted) deps.report(error)
        return refuse(facts ?? unexpected)
      }
    }
    tools.set(name, { listed, call })
  }
}

/** The schema that clients read. Bounds that only say what a JSON number can carry are left out. */
function toListedSchema(schema: z.ZodObject): ListedTool['inputSchema'] {
  const listed = z.toJSONSchema(schema, {
    io: 'input',
    override({ jsonSchema }) {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    },
  })
  return listed as ListedTool['inputSchema']
}

/** Models often send null for what they leave out. */
function dropNulls(given: Facts, { shape }: z.ZodObject): Facts {
  const isLeftOut = ([name, value]: [string, unknown]): boolean =>
    value === null && Object.hasOwn(shape, name) && shape[name].safeParse(undefined).success
  return Object.fromEntries(Object.entries(given).filter((entry) => !isLeftOut(entry)))
}

function refuse(facts: Facts): CallToolResult {
  return { content: [toText({ error: facts })], structuredContent: { error: facts }, isError: true }
}

function toText(facts: Facts) {
  return { type: 'text' as const, text: JSON.stringify(facts) }
}

/** Waits for the end of a job; returns it as it is when the time is over or the caller is gone. */
async function wait(
  { client, signal: gone }: ToolDeps,
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
