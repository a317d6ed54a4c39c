// What the REST door refuses by itself is counted and logged here; what a service refused, its pipeline has logged.
import { ConnectError } from '@connectrpc/connect'
import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { ErrorDetailSchema } from '../../gen/mediagen/v1/errors_pb.ts'
import type { MediagenError } from '../core/errors.ts'
import { problemKinds } from './problem-kinds.ts'
import type { StrangerLog } from '../runtime/stranger-log.ts'

/** Notes a request that is answered with an error. */
export type NoteRefusal = (request: FastifyRequest, error: MediagenError) => void

/** Creates the notes of one server. */
export function createRefusalNotes(parts: {
  log: Logger
  strangers: StrangerLog
  countRefusal: (code: string) => void
}): NoteRefusal {
  const { log, strangers, countRefusal } = parts
  return (request, error) => {
    const { id: request_id, method, url } = request
    const { code, message, cause } = error
    if (isOfService(cause)) {
      // The cause is in the log of the pipeline, under the same id.
      if (code === 'internal') log.error({ request_id, detail: message }, 'request failed')
      return
    }
    countRefusal(code)
    const line = { request_id, method, path: url.split('?')[0], code, detail: message }
    if (problemKinds[code].http < 500 && request.caller) log.info(line, 'request refused')
    else if (problemKinds[code].http < 500) strangers(line, 'request refused')
    else if (cause instanceof ConnectError) log.error({ ...line, reason: cause.rawMessage }, 'request failed')
    else log.error({ ...line, err: cause ?? error }, 'request failed')
  }
}

function isOfService(cause: unknown): boolean {
  return cause instanceof ConnectError && cause.findDetails(ErrorDetailSchema).length > 0
}
