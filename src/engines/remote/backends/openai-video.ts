// Videos of servers that speak OpenAI's API: jobs under /videos, submitted as multipart, with `seconds` as a string.
import { digestParts } from '@mediagen/engine/canonical-json.ts'
import type { JsonValue, UpstreamVerdict } from '@mediagen/engine/engine.ts'
import type { FormPart, SubmissionNote, UpstreamRef, Verdict } from '../backend.ts'
import { type Connection, isObject, NoVerdict, toReason } from '../connection.ts'

// How far its clock and ours may differ.
const clockSeconds = 600

/** What a video is recognised by: its prompt's digest, size and seconds, where they were sent. */
export function toVideoKey(parts: readonly FormPart[]): string {
  const fields = Object.fromEntries(parts.map((part) => [part.name, 'value' in part ? part.value : '']))
  return [digestParts(fields['prompt'] ?? ''), fields['size'] ?? '', fields['seconds'] ?? ''].join(' ')
}

/** Asks for the state of a video. */
export async function lookAtVideo(connection: Connection, ref: UpstreamRef): Promise<Verdict> {
  const { json } = await connection.ask({ method: 'GET', at: toPath(ref) })
  const { status, progress, error } = isObject(json) ? json : {}
  switch (String(status)) {
    case 'completed':
    case 'succeeded':
      return {
        state: 'succeeded',
        outputs: [{ url: connection.toUrl(`${toPath(ref)}/content`) }],
        usage: {},
        cost: null,
      }
    case 'failed':
      return {
        state: 'failed',
        message: connection.quote(isObject(error) ? error['message'] : (error ?? 'the run failed')),
      }
    case 'cancelled':
    case 'canceled':
      return { state: 'canceled' }
    default:
      if (status === undefined && error)
        throw new NoVerdict(`${connection.provider} answered${toReason(json, connection)}`)
      return { state: 'waiting', ...(typeof progress === 'number' && { progress: Math.min(1, progress / 100) }) }
  }
}

/** The videos that a lost submission may be. */
export async function findVideos(connection: Connection, { key, sinceMs }: SubmissionNote): Promise<UpstreamRef[]> {
  const { json } = await connection.ask({ method: 'GET', at: '/videos?limit=100&order=desc' })
  const list: JsonValue | undefined = isObject(json) ? json['data'] : undefined
  const [prompt, size, seconds] = key.split(' ')
  return (Array.isArray(list) ? list : []).flatMap((video) => {
    if (!isObject(video) || typeof video['id'] !== 'string') return []
    const isIt =
      digestParts(String(video['prompt'])) === prompt &&
      (size === '' || video['size'] === size) &&
      (seconds === '' || String(video['seconds']) === seconds) &&
      Number(video['created_at']) >= sinceMs / 1000 - clockSeconds
    return isIt ? [{ id: video['id'] }] : []
  })
}

/** Deletes a video, which is all that can be done to end it. */
export async function cancelVideo(connection: Connection, ref: UpstreamRef): Promise<UpstreamVerdict> {
  const { status } = await connection.ask({ method: 'DELETE', at: toPath(ref) }, { also: [404] })
  return status === 404 ? 'unknown' : 'canceled'
}

function toPath({ id }: UpstreamRef): string {
  return `/videos/${encodeURIComponent(id)}`
}
