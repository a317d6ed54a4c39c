// The Tasks extension of revision 2026-07-28. A task is a job with the same id, so any process answers, and nothing is kept here.
// modelcontextprotocol.github.io/ext-tasks/specification/2026-07-28/tasks.html
import type { Job, MediagenClient } from '@mediagen/client/client.ts'
import {
  type CallToolResult,
  type ClientCapabilities,
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import * as z from 'zod'
import { toErrorFacts, unexpected } from './errors.ts'
import type { Facts } from './records.ts'
import { toJobResult } from './results.ts'

const extension = 'io.modelcontextprotocol/tasks'
const pollIntervalMs = 2000
// A code of our own: refusals for which the protocol has none.
const refused = -32000

/** What the methods work with. */
export interface TaskDeps {
  readonly client: MediagenClient
  /** Called with each error that is a defect of this program. */
  readonly report: (error: unknown) => void
}

/** How servers and clients declare the extension. */
export const tasksCapability = { extensions: { [extension]: {} } }

// A failed job is a result that is an error; the status `failed` is for errors of the protocol.
const statuses = {
  queued: 'working',
  running: 'working',
  needs_review: 'working',
  succeeded: 'completed',
  failed: 'completed',
  expired: 'completed',
  canceled: 'cancelled',
} as const satisfies Record<Job['status'], string>

/** Whether the sender of a request declares the extension. */
export function takesTasks({ mcpReq }: ServerContext): boolean {
  // The SDK has checked its form, but its type has no members.
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {}
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
  return capabilities?.extensions?.[extension] !== undefined
}

/** Whether the task of a job is still at work. */
export function isUnderWay({ status }: Job): boolean {
  return statuses[status] === 'working'
}

/** The result of a call that has started a task. The SDK adds the empty content to any result. */
export function toCreatedTask(job: Job): CallToolResult {
  return { resultType: 'task', ...toTask(job), content: [] }
}

/** Adds the methods of the extension. */
export function addTaskMethods(server: Server, deps: TaskDeps): void {
  const add = (method: string, run: (taskId: string, context: ServerContext) => Promise<Facts>): void =>
    server.setRequestHandler(method, { params: z.object({ taskId: z.string() }) }, async ({ taskId }, context) => {
      if (!takesTasks(context))
        throw new MissingRequiredClientCapabilityError({ requiredCapabilities: tasksCapability })
      try {
        return await run(taskId, context)
      } catch (error) {
        throw error instanceof ProtocolError ? error : toProtocolError(error, deps)
      }
    })
  const { client } = deps
  add('tasks/get', async (taskId) => {
    const job = await client.job(taskId)
    const task = toTask(job)
    return { ...task, ...(task.status === 'completed' && { result: { resultType: 'complete', ...toJobResult(job) } }) }
  })
  add('tasks/update', async (taskId, { mcpReq }) => {
    if (mcpReq.inputResponses === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'inputResponses is missing.')
    // Responses that no task asks for are ignored, says the extension; these tasks ask for none.
    await client.job(taskId)
    return {}
  })
  add('tasks/cancel', async (taskId) => {
    await client.cancel(taskId)
    return {}
  })
}

function toTask(job: Job) {
  return {
    taskId: job.job_id,
    status: statuses[job.status],
    statusMessage: describe(job),
    createdAt: job.created_at,
    lastUpdatedAt: job.finished_at ?? job.started_at ?? job.created_at,
    ttlMs: null,
    pollIntervalMs,
  }
}

function describe({ status, progress, queue_position: position, error }: Job): string {
  if (status === 'queued') return position === null ? 'queued' : `queued, position ${position}`
  if (status === 'running') return `running, ${Math.floor(progress * 100)} %`
  if (status === 'needs_review') return 'needs_review: an operator decides what became of the job'
  return error ? `${status}: ${error.message}` : status
}

function toProtocolError(error: unknown, { report }: TaskDeps): ProtocolError {
  const facts = toErrorFacts(error)
  if (facts === null) report(error)
  const { code, message } = facts ?? unexpected
  const known = code === 'job_not_found' ? ProtocolErrorCode.InvalidParams : refused
  return new ProtocolError(facts ? known : ProtocolErrorCode.InternalError, String(message), facts ?? unexpected)
}
