// An HTTP agent that connects to public addresses and ports of the web only, and to what an operator allows. Every address is
// checked when a connection is made, after names were resolved and unusual spellings parsed, so it connects to the address that
// was checked.
import type { lookup } from 'node:dns'
import type { LookupFunction, Socket } from 'node:net'
import { Agent, buildConnector } from 'undici'
import { markUnsent } from './failure.ts'
import { type AllowedHosts, isRefusedHost, mayConnect, PrivateAddressError } from './hosts.ts'
import { type AllowedPorts, findRefusedPort, noFurtherPorts, RefusedPortError } from './ports.ts'

export interface PublicAgentOptions {
  /** Hosts that are allowed in addition to public addresses. */
  readonly allowed: AllowedHosts
  /** Ports that are allowed in addition to web ports. Default: none. */
  readonly allowedPorts?: AllowedPorts
  /** Time limit of each step: the connection, the headers, each part of the body. */
  readonly timeoutMs: number
  /** Resolves names. */
  readonly resolve: typeof lookup
  /** Size of the largest message of a WebSocket. Default: undici's. */
  readonly maxMessageBytes?: number
  /** Called with each connection. */
  readonly onConnect?: (socket: Socket) => void
}

/** Creates an agent for undici's own `request` and `fetch`; Node's global fetch would ignore it. */
export function createPublicAgent(options: PublicAgentOptions): Agent {
  const { allowed, allowedPorts = noFurtherPorts, timeoutMs, resolve, maxMessageBytes, onConnect } = options
  /** Refuses a name with any forbidden address, because we cannot choose which of its addresses is tried. */
  const checkedLookup: LookupFunction = (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = error ? [] : addresses
      if (error) callback(error, '')
      else if (!first || !addresses.every(({ address }) => mayConnect(allowed, hostname, address)))
        callback(new PrivateAddressError(hostname), '')
      else if (options.all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
  const connect = buildConnector({ timeout: timeoutMs, allowH2: false, lookup: checkedLookup })
  return new Agent({
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    ...(maxMessageBytes !== undefined && { webSocket: { maxPayloadSize: maxMessageBytes } }),
    connect(target, answer) {
      const { hostname } = target
      const callback: typeof answer = (...given) => {
        if (given[0]) markUnsent(given[0])
        else onConnect?.(given[1])
        answer(...given)
      }
      const refusedPort = findRefusedPort(allowedPorts, target)
      if (refusedPort) callback(new RefusedPortError(refusedPort), null)
      // Node looks up names only, so an address as host is checked here.
      else if (isRefusedHost(allowed, hostname)) callback(new PrivateAddressError(hostname), null)
      else connect(target, callback)
    },
  })
}
