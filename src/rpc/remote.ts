// The way from a gateway to a core elsewhere: gRPC, as a Connect Transport.
import type { Transport } from '@connectrpc/connect'
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node'

// A dead core is noticed within so long while calls are under way.
const pingIntervalMs = 10_000

/** A transport to a core, and the end of its connection. */
export interface RemoteCore {
  readonly transport: Transport
  /** Whether the core answers on its port. */
  isReachable(): Promise<boolean>
  close(): void
}

/** Connects when the first call is made. */
export function createRemoteCore(coreUrl: string): RemoteCore {
  const sessions = new Http2SessionManager(coreUrl, { pingIntervalMs })
  return {
    transport: createGrpcTransport({ baseUrl: coreUrl, sessionManager: sessions }),
    isReachable: async () => (await sessions.connect()) !== 'error',
    close: () => sessions.abort(),
  }
}
