// Services of the gRPC port whose rpcs need no key, because their requests carry their own proof: for gateways in front of a core.
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import type { handleUnaryCall, Server } from '@grpc/grpc-js'
import type { FindClient } from '../guards/client-address.ts'
import { toConnectError, toMediagenError } from './errors.ts'
import { toStatus } from './grpc-status.ts'

/** What answers each rpc of a service; all have one request and one answer. `client` is the address of the caller. */
export type OpenImpl<Service extends DescService> = {
  [Name in keyof Service['method']]: Service['method'][Name] extends DescMethodUnary<infer Input, infer Output>
    ? (request: MessageShape<Input>, client: string) => Promise<MessageInitShape<Output>>
    : never
}

/** Adds a service to a server. */
export function addOpenService<Service extends DescService>(
  server: Pick<Server, 'addService'>,
  service: Service,
  impl: OpenImpl<Service>,
  findClient: FindClient,
): void {
  const definitions = service.methods.map((method) => [method.localName, defineMethod(service, method)] as const)
  const answers = service.methods.map(({ localName, output }) => {
    const run = impl[localName] as unknown as (
      request: unknown,
      client: string,
    ) => Promise<MessageInitShape<DescMessage>>
    const handle: handleUnaryCall<unknown, unknown> = (call, answer) => {
      const [forwarded] = call.metadata.get('x-forwarded-for')
      // It names the port, too.
      const peer = call.getPeer().replace(/:\d+$/, '')
      run(call.request, findClient(peer, forwarded === undefined ? null : String(forwarded))).then(
        (response) => answer(null, create(output, response)),
        (error: unknown) => answer(toStatus(toConnectError(toMediagenError(error), ''), '')),
      )
    }
    return [localName, handle] as const
  })
  server.addService(Object.fromEntries(definitions), Object.fromEntries(answers))
}

function defineMethod({ typeName }: DescService, { name, input, output }: DescService['methods'][number]) {
  return {
    path: `/${typeName}/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (request: MessageShape<DescMessage>) => Buffer.from(toBinary(input, request)),
    requestDeserialize: (bytes: Buffer) => fromBinary(input, bytes),
    responseSerialize: (response: MessageShape<DescMessage>) => Buffer.from(toBinary(output, response)),
    responseDeserialize: (bytes: Buffer) => fromBinary(output, bytes),
  }
}
