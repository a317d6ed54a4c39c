// Reads the state and the files of a run out of ComfyUI's answers: of /api/jobs/{id}, and of /history/{id} in older servers.
import type { JsonValue } from '@mediagen/engine/engine.ts'
import type { Output, Verdict } from '../backend.ts'
import { type Connection, isObject } from '../connection.ts'

type Answer = Readonly<Record<string, JsonValue>>

/** The state of a run. */
export function toVerdict(entry: Answer, connection: Connection): Verdict {
  switch (String(toState(entry))) {
    case 'completed':
      return {
        state: 'succeeded',
        outputs: listOutputs(entry['outputs'], connection),
        usage: toUsage(entry),
        cost: null,
      }
    case 'failed':
      return { state: 'failed', message: connection.quote(findMessage(entry)) }
    case 'cancelled':
      return { state: 'canceled' }
    default:
      return { state: 'waiting' }
  }
}

/** The history has no word for it, only its messages. */
function toState(entry: Answer): JsonValue | undefined {
  const { status } = entry
  if (!isObject(status)) return status
  if (status['status_str'] === 'success') return 'completed'
  return listMessages(status).some(([name]) => name === 'execution_interrupted') ? 'cancelled' : 'failed'
}

function listMessages(status: JsonValue | undefined): [string, Answer][] {
  const messages = isObject(status) ? status['messages'] : null
  return Array.isArray(messages) ? (messages as unknown as [string, Answer][]) : []
}

/** The message of the exception alone: the traceback names files of the server. */
function findMessage(entry: Answer): JsonValue {
  const error =
    entry['execution_error'] ?? listMessages(entry['status']).find(([name]) => name === 'execution_error')?.[1]
  const { node_type: node, exception_message: message } = isObject(error) ? error : {}
  return typeof message === 'string' ? `${typeof node === 'string' ? `${node}: ` : ''}${message}` : 'the run failed'
}

/** Every stored file, in the order of the nodes; films come under `images`, too, and drafts are of another type. */
function listOutputs(outputs: JsonValue | undefined, connection: Connection): Output[] {
  const nodes = isObject(outputs) ? Object.entries(outputs) : []
  return nodes
    .toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    .flatMap(([, kinds]) => (isObject(kinds) ? Object.values(kinds) : []))
    .flatMap((files) => (Array.isArray(files) ? files : []))
    .flatMap((file) => {
      if (!isObject(file) || typeof file['filename'] !== 'string' || file['type'] !== 'output') return []
      const query = new URLSearchParams({
        filename: file['filename'],
        subfolder: typeof file['subfolder'] === 'string' ? file['subfolder'] : '',
        type: 'output',
      })
      return [{ url: connection.toUrl(`/view?${query}`) }]
    })
}

/** The history has the times in its messages alone. */
function toUsage(entry: Answer): Record<string, number> {
  const timeOf = (field: string, message: string): number =>
    Number(entry[field] ?? listMessages(entry['status']).find(([name]) => name === message)?.[1]['timestamp'])
  const ms = timeOf('execution_end_time', 'execution_success') - timeOf('execution_start_time', 'execution_start')
  return ms >= 0 ? { predict_time: ms / 1000 } : {}
}
