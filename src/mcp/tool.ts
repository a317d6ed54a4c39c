// What a tool is: what clients read of it, how its arguments are checked, and how it answers.
import type { MediagenClient } from '@mediagen/client/client.ts'
import type { CallToolResult, ServerContext, Tool as ListedTool } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { toErrorFacts, toViolationFacts, unexpected } from './errors.ts'
import type { Facts } from './records.ts'
import { type Answer, refuse, toResult } from './results.ts'
import { isUnderWay, takesTasks, toCreatedTask } from './tasks.ts'

/** Tools by their names. */
export type Tools = ReadonlyMap<string, Tool>

/** A tool: what clients read of it, and how it is called. */
export interface Tool {
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

interface ToolDefinition<Schema extends z.ZodObject> {
  readonly title: string
  readonly description: string
  readonly inputSchema: Schema
  readonly annotations: object
  run(given: z.output<Schema>, deps: ToolDeps, context: ServerContext): Promise<Answer>
}

/** Adds a tool. @param startsTask whether its job is a task for clients that declare the extension */
export type AddTool = <Schema extends z.ZodObject>(
  name: string,
  definition: ToolDefinition<Schema>,
  startsTask?: boolean,
) => void

/**
 * Adds tools that answer with JSON, links and pictures; whatever they throw becomes the result of the call. Arguments are
 * checked here, because the SDK's own refusals have no code.
 */
export function createAdd(tools: Map<string, Tool>): AddTool {
  return (name, { inputSchema, run, ...about }, startsTask = false) => {
    const listed = { name, ...about, inputSchema: toListedSchema(inputSchema) }
    const known = Object.keys(inputSchema.shape)
    async function call(given: Facts, deps: ToolDeps, context: ServerContext): Promise<CallToolResult> {
      try {
        const checked = inputSchema.safeParse(dropNulls(given, inputSchema), { error: describeMissing })
        if (!checked.success) return refuse(toViolationFacts(checked.error.issues, known))
        const answer = await run(checked.data, deps, context)
        if (startsTask && answer.job && takesTasks(context) && isUnderWay(answer.job)) return toCreatedTask(answer.job)
        return await toResult(answer, deps.client)
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

/** Says of a missing argument what REST says of a missing field; nothing of others. */
function describeMissing({ code, input }: z.core.$ZodRawIssue): string | undefined {
  return code === 'invalid_type' && input === undefined ? 'is required' : undefined
}

/** Aborts with the first of several signals. */
export function anyOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined))
}
