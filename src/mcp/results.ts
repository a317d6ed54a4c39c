// The results of calls: JSON, as text and as it is, links to the outputs, and small pictures of them.
import type { Job, MediagenClient } from '@mediagen/client/client.ts'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { type Facts, toJobFacts, toLink } from './records.ts'

// A larger preview is a link only.
const mostPreviewBytes = 200_000

/** What a tool answers with. */
export interface Answer {
  readonly facts: Facts
  /** The job whose outputs are linked. */
  readonly job?: Job
  /** Whether small pictures of the outputs are sent along. */
  readonly preview?: boolean | undefined
}

/** The result of a call that was answered. */
export async function toResult({ facts, job, preview }: Answer, client: MediagenClient): Promise<CallToolResult> {
  const pictures = job && preview ? await loadPreviews(client, job) : []
  return { content: [toText(facts), ...(job ? toLinks(job) : []), ...pictures], structuredContent: facts }
}

/** The result of a call whose job has ended; an error unless it succeeded. */
export function toJobResult(job: Job): CallToolResult {
  const facts = toJobFacts(job)
  const isError = job.status !== 'succeeded'
  return { content: [toText(facts), ...toLinks(job)], structuredContent: facts, isError }
}

/** The result of a call that was refused. */
export function refuse(facts: Facts): CallToolResult {
  return { content: [toText({ error: facts })], structuredContent: { error: facts }, isError: true }
}

function toText(facts: Facts) {
  return { type: 'text' as const, text: JSON.stringify(facts) }
}

function toLinks(job: Job) {
  return job.outputs.flatMap((output, index) => toLink(job, output, index))
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
