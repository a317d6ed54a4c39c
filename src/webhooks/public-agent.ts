// An HTTP agent that connects to public addresses only. Every address is checked when a connection is made, after names were
// resolved and odd spellings read, so that what is checked is what is connected to.
import { lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { Agent, buildConnector } from 'undici'

/** A connection that was refused because of where it leads. The address itself is not told: names of a private network are private. */
export class PrivateAddressError extends Error {
  constructor(host: string) {
    super(`${host} does not lead to a public address`)
    this.name = 'PrivateAddressError'
  }
}

/** Settings of an agent. */
export interface PublicAgentOptions {
  /** Whether private addresses are connected to all the same. */
  readonly allowPrivate: boolean
  /** How long anything may take: the connection, the headers, each part of the body. */
  readonly timeoutMs: number
  /** How names are resolved; a test may give its own. */
  readonly resolve?: typeof lookup
}

/** Whether an address can be reached from everywhere, by the registries of special addresses. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  if (address.range() !== 'unicast') return false
  // Of IPv6, only 2000::/3 has been given out; what lies outside (such as ::127.0.0.1) is nobody's.
  return address.kind() === 'ipv4' || ((address.toByteArray()[0] ?? 0) & 0xe0) === 0x20
}

/** Creates an agent for undici's own `request` and `fetch`; Node's global fetch would ignore it. */
export function createPublicAgent({ allowPrivate, timeoutMs, resolve = lookup }: PublicAgentOptions): Agent {
  const connect = buildConnector({
    timeout: timeoutMs,
    allowH2: false,
    ...(!allowPrivate && { lookup: createPublicLookup(resolve) }),
  })
  return new Agent({
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect(options, callback) {
      // Node looks up names only.
      if (!allowPrivate && isIP(options.hostname) !== 0 && !isPublicAddress(options.hostname))
        callback(new PrivateAddressError(options.hostname), null)
      else connect(options, callback)
    },
  })
}

/** A name that leads to any private address is refused: which of its addresses is tried is not ours to choose. */
function createPublicLookup(resolve: typeof lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = error ? [] : addresses
      if (error) callback(error, '')
      else if (!first || !addresses.every(({ address }) => isPublicAddress(address)))
        callback(new PrivateAddressError(hostname), '')
      else if (options.all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}
