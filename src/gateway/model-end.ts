// The headers that announce the end of a model: Deprecation (RFC 9745), Sunset (RFC 8594) and a link to its successor (RFC 8288).
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { FastifyReply } from 'fastify'
import type { ModelEnd } from '../../gen/mediagen/v1/catalog_pb.ts'

/** Adds the headers to the answer of a quote or a start whose model ends soon. */
export function addModelEnd(reply: FastifyReply, end: ModelEnd | undefined): void {
  if (!end?.deprecatedAt || !end.shutdownAt) return
  reply.header('deprecation', `@${timestampMs(end.deprecatedAt) / 1000}`)
  reply.header('sunset', new Date(timestampMs(end.shutdownAt)).toUTCString())
  if (end.replacedBy !== undefined) reply.header('link', `</v1/models/${end.replacedBy}>; rel="successor-version"`)
}
