// Bounds of connections that no test reaches by accident.
import type { ConnectionBounds } from '../../src/gateway/http/connections.ts'

/** Bounds with room for everything; tests narrow what they are about. */
export const roomy: ConnectionBounds = {
  closeGraceMs: () => 5000,
  maxConnections: 1000,
  maxPerClient: 1000,
  maxPipelined: 1000,
  maxUnreadTotalBytes: 1_000_000_000,
  windowMs: 60_000,
  toClient: () => null,
}
