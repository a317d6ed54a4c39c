// Counts and logs what the REST door refuses by itself; the pipeline has logged the refusals of services.
import { ConnectError } from '@connectrpc/connect'
import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { ErrorDetailSchema } from '../../../gen/mediagen/v1/errors_pb.ts'
import type { MediagenError } from '../../core/errors.ts'
import type { UnauthenticatedLog } from '../../guards/unauthenticated-log.ts'
import { problemKinds } from './problem-kinds.ts'

/** Logs and counts requests that are answered with an error. */
export interface RefusalNotes {
  request(request: FastifyRequest, error: MediagenError): void
  /** Logs and counts data on a connection that was not a request. */
  connection(error: MediagenError, peer: { readonly remoteAddress: string }): void
}

/** Creates the log and the counter of one server. */
export function createRefusalNotes(deps: {
  log: Logger
  logUnauthenticated: UnauthenticatedLog
  countRefusal: (code: string) => void
}): RefusalNotes {
  const { log, logUnauthenticated, countRefusal } = deps
  return {
    request(request, error) {
      const { id: request_id, method, url } = request
      const { code, message, cause } = error
      if (isOfService(cause)) {
        // The cause is in the log of the pipeline, under the same id.
        if (code === 'internal') log.error({ request_id, detail: message }, 'request failed')
        return
      }
      const line = { request_id, method, path: url.split('?')[0], code, detail: message }
      // The client has left, so the call ended: this is no error, and nobody reads the answer.
      if (cause instanceof ConnectError && request.raw.socket.destroyed) return log.debug(line, 'the client left')
      countRefusal(code)
      if (problemKinds[code].http < 500 && request.caller) log.info(line, 'request refused')
      else if (problemKinds[code].http < 500) logUnauthenticated(line, 'request refused')
      else if (cause instanceof ConnectError) log.error({ ...line, reason: cause.rawMessage }, 'request failed')
      else log.error({ ...line, err: cause ?? error }, 'request failed')
    },
    connection({ code, message }, { remoteAddress }) {
      countRefusal(code)
      logUnauthenticated({ code, detail: message, address: remoteAddress }, 'connection refused')
    },
  }
}

function isOfService(cause: unknown): boolean {
  return cause instanceof ConnectError && cause.findDetails(ErrorDetailSchema).length > 0
}
