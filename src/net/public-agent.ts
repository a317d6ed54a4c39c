// An HTTP agent that connects to public addresses only, and to what an operator allows. Every address is checked when a
// connection is made, after names were resolved and odd spellings read, so that what is checked is what is connected to.
import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { Agent, buildConnector } from 'undici'
import { type AllowedHosts, isRefusedAddress, mayConnect, PrivateAddressError } from './hosts.ts'

/** Settings of an agent. */
export interface PublicAgentOptions {
  /** What is connected to beside public addresses. */
  readonly allowed: AllowedHosts
  /** How long anything may take: the connection, the headers, each part of the body. */
  readonly timeoutMs: number
  /** How names are resolved; a test may give its own. */
  readonly resolve?: typeof lookup
}

/** Creates an agent for undici's own `request` and `fetch`; Node's global fetch would ignore it. */
export function createPublicAgent({ allowed, timeoutMs, resolve = lookup }: PublicAgentOptions): Agent {
  /** A name that leads to any address that is refused is refused: which of its addresses is tried is not ours to choose. */
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
    connect(options, callback) {
      const { hostname } = options
      // Node looks up names only.
      if (isRefusedAddress(allowed, hostname)) callback(new PrivateAddressError(hostname), null)
      else connect(options, callback)
    },
  })
}
