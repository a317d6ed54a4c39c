// The settings of the doors, as each door wants them.
import type { Config } from '../../config.ts'
import type { ConnectionBounds } from '../../gateway/http/connections.ts'
import { toClientNetwork } from '../../guards/client-address.ts'
import { isAmong } from '../../outgoing/hosts.ts'
import type { GrpcBounds } from '../../rpc/grpc/grpc-server.ts'
import type { Grace } from './grace.ts'
import type { FileShares } from './open-files.ts'

// Requests that arrived in full are answered long before this. Requests that still arrive then are cut off,
// even if the grace is longer.
const mostCloseMs = 5000
// The last requests are answered, even if jobs used up the grace.
const leastCloseMs = 500

/** What connections to the HTTP port may take. */
export function toConnectionBounds(config: Config, files: FileShares, grace: Grace): ConnectionBounds {
  return {
    maxConnections: Math.min(config.maxConnections, files.connections),
    maxPerClient: config.maxConnectionsPerAddress,
    maxPipelined: config.maxPipelined,
    maxUnreadTotalBytes: config.maxUnreadTotalBytes,
    windowMs: config.stallSeconds * 1000,
    toClient: createToClient(config),
    closeGraceMs: () => Math.max(leastCloseMs, Math.min(mostCloseMs, grace())),
  }
}

/** What connections to the gRPC port may take. */
export function toGrpcBounds(config: Config, files: FileShares): GrpcBounds {
  return {
    maxBodyBytes: config.maxBodyBytes,
    maxValues: config.maxValues,
    stallMs: config.stallSeconds * 1000,
    maxConnections: Math.min(config.maxGrpcConnections, files.grpcConnections),
    maxConnectionsPerAddress: config.maxGrpcConnectionsPerAddress,
    maxStreams: config.maxStreams,
    maxKeylessStreams: config.maxKeylessStreams,
    keylessMs: config.keylessSeconds * 1000,
    maxKeylessBytes: config.maxKeylessBytes,
    maxResets: config.maxResets,
    maxFragments: config.maxFragments,
    maxKeylessCalls: config.maxKeylessCalls,
    toClient: createToClient(config),
    maxBytes: config.maxGrpcBytes,
    maxConnectionBytes: config.maxGrpcConnectionBytes,
    maxOpenRequestBytes: config.maxOpenRequestBytes,
  }
}

/** Whose the connections from an address are; null for a trusted proxy, whose clients share its connections. */
function createToClient({ trustedProxies }: Config): (address: string) => string | null {
  return (address) => (isAmong(trustedProxies, address) ? null : toClientNetwork(address))
}
