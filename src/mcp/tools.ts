// The tools: what an agent can do with one account. Each is one or two calls of the client, and nothing else.
import type { Input, Job } from '@mediagen/client/client.ts'
import type { ServerContext } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { createProgress } from './progress.ts'
import { toFullJobFacts, toJobFacts, toJobRow, toModelDetailFacts, toModelFacts, toPageFacts } from './records.ts'
import { type AddTool, anyOf, createAdd, type Tool, type ToolDeps, type Tools } from './tool.ts'
import { addUploadTool, type OpenFile } from './uploads.ts'

// Agents' clients give a call up after 60 seconds, unless configured otherwise.
const mostWaitSeconds = 50
const usualWaitSeconds = 45

const model = z.string().describe('Id of a model, such as acme/poster/text-to-image; find_models lists them.')
const input = z.looseObject({}).describe("The model's own input; describe_model has its schema.")
const jobId = z.string().describe('job_…')
const preview = z.boolean().optional().describe('Send a small picture of each output along. Default: false.')
const page = {
  limit: z.int().min(1).max(100).default(20),
  offset: z.int().min(0).default(0).describe('How many to skip.'),
}
const reads = { readOnlyHint: true, openWorldHint: false }

/** What differs between the places where the tools are served. */
export interface ToolOptions {
  /** How long waits may take at most; wait_for_job takes 50 seconds or less. */
  readonly waitSeconds?: number
  /** Opens a file of the agent's machine; unset where that is another machine. */
  readonly openFile?: OpenFile
}

/** The tools, defined once for all servers and requests. */
export function createTools({ waitSeconds = mostWaitSeconds, openFile }: ToolOptions): Tools {
  const tools = new Map<string, Tool>()
  const add = createAdd(tools)
  addModelTools(add)
  addUploadTool(add, openFile)
  addStartTool(add)
  addJobTools(add, Math.min(waitSeconds, mostWaitSeconds))
  add('get_wallet', {
    title: 'Read the wallet',
    description: 'Says how many credits are available, and how many are held for jobs under way.',
    inputSchema: z.strictObject({}),
    annotations: reads,
    run: async (_given, { client }) => ({ facts: { ...(await client.wallet()) } }),
  })
  return tools
}

function addModelTools(add: AddTool): void {
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
}

function addStartTool(add: AddTool): void {
  add(
    'start_generation',
    {
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
    },
    true,
  )
}

function addJobTools(add: AddTool, waitSeconds: number): void {
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
      label: z.string().optional().describe('A label, such as team:ads.'),
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
