// What agents read of the records of REST: the fields that matter to them, because every word costs them.
import type { Job, Model, ModelDetail, Output, Page } from '@mediagen/client/client.ts'
import { nameOutput } from '@mediagen/client/output-name.ts'

// Longer values of an input, such as `data:` media, would fill an agent's memory.
const longestValue = 1000

/** Any JSON object. */
export type Facts = Record<string, unknown>

/** A page of a list, under the name of its items. */
export function toPageFacts<Item>(name: string, page: Page<Item>, toFacts: (item: Item) => Facts): Facts {
  return { [name]: page.data.map(toFacts), total: page.total, has_more: page.has_more }
}

/** A model, in a list. */
export function toModelFacts({ id, name, description, category, modality, pricing }: Model): Facts {
  return { model: id, name, description, category, modality, price: pricing.summary }
}

/** A model with its input schema. */
export function toModelDetailFacts(model: ModelDetail): Facts {
  const operation = findOperation(model.openapi)
  return {
    ...toModelFacts(model),
    unready_reason: model.unready_reason,
    ...(model.shutdown_date && { shutdown_date: model.shutdown_date, replaced_by: model.replaced_by }),
    price_examples: operation['x-price'] ?? null,
    input_schema: findSchema(operation),
  }
}

/** The one operation of a model's OpenAPI document. */
function findOperation({ paths }: Facts): Facts {
  const [path = {}] = Object.values((paths ?? {}) as Record<string, Record<string, Facts>>)
  return Object.values(path)[0] ?? {}
}

function findSchema(operation: Facts): unknown {
  const { content } = (operation['requestBody'] ?? {}) as { content?: Record<string, { schema?: unknown }> }
  return content?.['application/json']?.schema ?? null
}

/** A job, without its input. */
export function toJobFacts(job: Job): Facts {
  const { job_id, status, model, progress, queue_position, billing, error, created_at, finished_at } = job
  const outputs = job.outputs.map((output, index) => ({
    name: nameOutput(job, index),
    url: output.url,
    content_type: output.content_type,
    bytes: output.bytes,
    ...(output.width !== null && { width: output.width, height: output.height }),
    ...(output.duration_seconds !== null && { duration_seconds: output.duration_seconds }),
    expires_at: output.expires_at,
  }))
  const { quoted, held, charged } = billing
  const credits = { quoted, held, charged }
  return { job_id, status, model, progress, queue_position, credits, outputs, error, created_at, finished_at }
}

/** A job with its input; long values are left out. */
export function toFullJobFacts(job: Job): Facts {
  const input = job.input && Object.entries(job.input).map(([name, value]) => [name, abridge(value)])
  const { seed, version, not_guaranteed } = job.reproduction ?? {}
  const again = { seed, version, not_guaranteed: not_guaranteed?.map(({ detail }) => detail) }
  return { ...toJobFacts(job), labels: job.labels, input: input && Object.fromEntries(input), ...again }
}

/** A job, in a list. */
export function toJobRow({ job_id, status, model, billing, created_at, input }: Job): Facts {
  const prompt = input?.['prompt']
  return { job_id, status, model, charged: billing.charged, created_at, prompt: prompt ? abridge(prompt) : null }
}

function abridge(value: unknown): unknown {
  return JSON.stringify(value).length <= longestValue ? value : `(left out: ${JSON.stringify(value).length} characters)`
}

/** A link to an output, where its file is still there. */
export function toLink(job: Job, output: Output, index: number) {
  const { url, content_type: mimeType, bytes: size } = output
  return url === null
    ? []
    : [{ type: 'resource_link' as const, uri: url, name: nameOutput(job, index), mimeType, size }]
}
