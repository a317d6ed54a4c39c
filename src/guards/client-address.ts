// The address of a client, possibly behind proxies.
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { type AllowedHosts, isAmong, parseAllowedHosts } from '../outgoing/hosts.ts'

/** The address of a client: `peer` is the other end of the connection, `forwarded` the header X-Forwarded-For. */
export type FindClient = (peer: string, forwarded: string | null) => string

/**
 * Parses the addresses and networks of trusted proxies, separated by commas.
 * @throws Error whose message completes "… must be"
 */
export function parseProxies(text: string): AllowedHosts {
  const hosts = parseAllowedHosts(text)
  if (hosts.names.size > 0) throw new Error('must be addresses or networks such as `10.1.0.0/16`, separated by commas')
  return hosts
}

/**
 * Creates the rule: entries of the header are read from the last one, which the proxy itself added, back to the first that is
 * not a trusted proxy. A header from anyone else is ignored, and so is what comes before an entry that is no address.
 */
export function createFindClient(trusted: AllowedHosts): FindClient {
  const isTrusted = (address: string): boolean => isAmong(trusted, address)
  return (peer, forwarded) => {
    if (trusted.networks.length === 0 || forwarded === null || !isTrusted(peer)) return peer
    let client = peer
    for (const entry of forwarded.split(',').toReversed()) {
      const address = readAddress(entry)
      if (address === null) return client
      client = address
      if (!isTrusted(client)) return client
    }
    return client
  }
}

/** The address of an entry, which some proxies write with a port, in brackets or in quotes; null if there is none. */
function readAddress(entry: string): string | null {
  const written = entry.trim().replace(/^"(.*)"$/, '$1')
  const [, inBrackets, four] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(written) ?? []
  // A zone names an interface of the proxy.
  const address = (inBrackets ?? four ?? written).replace(/%.*$/, '')
  return isIP(address) === 0 ? null : address
}

/**
 * The key of one client: an IPv4 address, or the /64 network of an IPv6 address, since one client usually has all of it.
 * @param address null for an unknown client
 */
export function toClientNetwork(address: string | null): string {
  if (address === null || !ipaddr.isValid(address)) return 'unknown'
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return `${parsed.toNormalizedString().split(':').slice(0, 4).join(':')}::/64`
}
