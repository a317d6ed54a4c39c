// The transport from a gateway to a remote core: gRPC, as a Connect Transport.
import type { JsonObject } from '@bufbuild/protobuf'
import { createClient, type Transport } from '@connectrpc/connect'
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node'
import { toCanonicalJson } from '@mediagen/engine/canonical-json.ts'
import { WalletService } from '../../gen/mediagen/v1/wallet_pb.ts'
import type { ApiKey } from '../core/accounts/key.ts'
import { MediagenError } from '../core/errors.ts'
import { describeViolations } from '../core/violations.ts'
import { toPermission } from '../services/messages/convert.ts'

// A dead core is noticed within this time during calls.
const pingIntervalMs = 10_000

/** A core's answer about a key. */
export type RemoteKey = Pick<ApiKey, 'keyId' | 'accountId' | 'permissions'>

/** A transport to a core, and the end of its connection. */
export interface RemoteCore {
  readonly transport: Transport
  /**
   * Asks the core for the owner of the key in an `Authorization` header.
   * @throws ConnectError with our detail
   */
  authenticate(sent: { authorization: string | null; address: string; requestId: string }): Promise<RemoteKey>
  /** Whether the core answers on its port. */
  isReachable(): Promise<boolean>
  close(): void
}

/** Connects with the first call. */
export function createRemoteCore(coreUrl: string): RemoteCore {
  const sessions = new Http2SessionManager(coreUrl, { pingIntervalMs })
  const grpc = createGrpcTransport({ baseUrl: coreUrl, sessionManager: sessions })
  const transport: Transport = {
    ...grpc,
    async unary(method, signal, timeoutMs, header, message, values) {
      refuseUnhashable((message as { input?: JsonObject }).input)
      return grpc.unary(method, signal, timeoutMs, header, message, values)
    },
  }
  const wallet = createClient(WalletService, transport)
  return {
    transport,
    async authenticate({ authorization, address, requestId }) {
      const headers = {
        'x-request-id': requestId,
        'x-forwarded-for': address,
        ...(authorization !== null && { authorization }),
      }
      const { keyId, accountId, permissions } = await wallet.getAccess({}, { headers })
      return { keyId, accountId, permissions: permissions.flatMap((code) => toPermission(code) ?? []) }
    },
    isReachable: async () => (await sessions.connect()) !== 'error',
    close: () => sessions.abort(),
  }
}

/**
 * Refuses the input of a model if the wire could not carry it as it is, such as a text that is not Unicode: the core would get
 * another one.
 * @throws MediagenError `invalid_request`
 */
function refuseUnhashable(input: JsonObject | undefined): void {
  const found = input && toCanonicalJson(input)
  if (typeof found === 'object')
    throw new MediagenError('invalid_request', describeViolations([found]), { violations: [found] })
}
