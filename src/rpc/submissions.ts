// Reports of providers about submissions, from a gateway to its core: an rpc without a key, since its request carries a token.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { createClient, type Transport } from '@connectrpc/connect'
import type { handleUnaryCall, Server, ServiceDefinition } from '@grpc/grpc-js'
import {
  SubmissionsService,
  type TellSubmissionRequest,
  TellSubmissionRequestSchema,
  type TellSubmissionResponse,
  TellSubmissionResponseSchema,
} from '../../gen/mediagen/v1/submissions_pb.ts'
import type { SubmissionNotifications } from '../core/jobs/submission-url.ts'
import { toConnectError, toMediagenError } from './errors.ts'
import { toStatus } from './grpc-status.ts'

type Tell = handleUnaryCall<TellSubmissionRequest, TellSubmissionResponse>

const { tellSubmission } = SubmissionsService.method

const definition: ServiceDefinition = {
  tellSubmission: {
    path: `/${SubmissionsService.typeName}/${tellSubmission.name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (request: TellSubmissionRequest) => Buffer.from(toBinary(TellSubmissionRequestSchema, request)),
    requestDeserialize: (bytes: Buffer) => fromBinary(TellSubmissionRequestSchema, bytes),
    responseSerialize: (response: TellSubmissionResponse) =>
      Buffer.from(toBinary(TellSubmissionResponseSchema, response)),
    responseDeserialize: (bytes: Buffer) => fromBinary(TellSubmissionResponseSchema, bytes),
  },
}

/** Serves what gateways pass on. */
export function addSubmissions(server: Pick<Server, 'addService'>, notifications: SubmissionNotifications): void {
  const tell: Tell = ({ request }, answer) => {
    const { provider, jobId, n, token, upstreamId } = request
    notifications.receive({ provider, jobId, n }, token, upstreamId || null).then(
      (genuine) => answer(null, create(TellSubmissionResponseSchema, { genuine })),
      (error: unknown) => answer(toStatus(toConnectError(toMediagenError(error), ''), '')),
    )
  }
  server.addService(definition, { tellSubmission: tell })
}

/** Passes reports of providers on to a core elsewhere. */
export function createRemoteSubmissions(transport: Transport): SubmissionNotifications {
  const core = createClient(SubmissionsService, transport)
  return {
    async receive(submission, token, upstreamId) {
      const { genuine } = await core.tellSubmission({ ...submission, token, upstreamId: upstreamId ?? '' })
      return genuine
    },
  }
}
