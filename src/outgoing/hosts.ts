// Which addresses are public, and which others an operator allows.
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import ipaddr from 'ipaddr.js'

type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

/** Hosts with private addresses that connections may go to. */
export interface AllowedHosts {
  /** Host names in lower case; they may resolve to any address. */
  readonly names: ReadonlySet<string>
  /** Networks, as address prefixes. */
  readonly networks: readonly Network[]
}

/** A connection refused because of its address. The error does not reveal the address, because names in a private network are private. */
export class PrivateAddressError extends Error {
  constructor(host: string) {
    super(`${host} does not lead to a public address`)
    this.name = 'PrivateAddressError'
  }
}

/** Public addresses only. */
export const onlyPublic = parseAllowedHosts('')
/** Every address. */
export const everyHost = parseAllowedHosts('0.0.0.0/0, ::/0')

/** Whether an address is globally reachable, by the IANA registries of special addresses. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  if (address.range() !== 'unicast') return false
  // Of IPv6, only 2000::/3 is allocated; addresses outside it (such as ::127.0.0.1) are not public.
  return address.kind() === 'ipv4' || ((address.toByteArray()[0] ?? 0) & 0xe0) === 0x20
}

/** Whether only this machine reaches a server that listens on `host`. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback'
}

/**
 * Parses a list of host names, addresses and networks, separated by commas: `files.internal, 10.0.0.5, 192.168.0.0/16`.
 * A name allows every address that it resolves to; an address or a network allows every name that resolves to it.
 * @throws Error whose message completes "… must be"
 */
export function parseAllowedHosts(text: string): AllowedHosts {
  const entries = text
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter(Boolean)
  const names = new Set<string>()
  const networks: Network[] = []
  for (const entry of entries) {
    if (ipaddr.isValidCIDR(entry)) networks.push(ipaddr.parseCIDR(entry))
    else if (ipaddr.IPv4.isValidFourPartDecimal(entry) || ipaddr.IPv6.isValid(entry)) networks.push(toNetwork(entry))
    else if (isHostName(entry)) names.add(entry)
    else throw new Error('must be host names, addresses or networks such as `10.1.0.0/16`, separated by commas')
  }
  return { names, networks }
}

/** Whether `address`, to which `host` resolved (or which it is), is public or allowed. */
export function mayConnect(allowed: AllowedHosts, host: string, address: string): boolean {
  if (isPublicAddress(address) || allowed.names.has(toName(host))) return true
  return isAmong(allowed, address)
}

/** Whether `address` lies in one of the networks. */
export function isAmong({ networks }: AllowedHosts, address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const found = ipaddr.process(address)
  return networks.some(([network, bits]) => network.kind() === found.kind() && found.match(network, bits))
}

/**
 * Whether the host of a URL is a forbidden address, or a name of this machine or its network. The addresses of other names are
 * checked when they are resolved, as are those of names in an installation that allows private networks.
 * @param own the name of this machine
 */
export function isRefusedHost(allowed: AllowedHosts, host: string, own = hostname()): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1')
  if (isIP(address) !== 0) return !mayConnect(allowed, address, address)
  return isLocalName(toName(host), toName(own)) && !allowed.names.has(toName(host)) && allowed.networks.length === 0
}

/** A host name in lower case, without the dot of the root. The look behind keeps the time linear, however many dots there are. */
const toName = (host: string): string => host.toLowerCase().replace(/(?<!\.)\.+$/, '')

/** Whether a name is that of this machine or of a host in its network. Names of one label are never in public DNS. */
function isLocalName(name: string, own: string): boolean {
  return !name.includes('.') || name === own || /\.(?:localhost|localdomain|localdomain[46]|local|internal)$/.test(name)
}

function toNetwork(address: string): Network {
  const parsed = ipaddr.process(address)
  return [parsed, parsed.kind() === 'ipv4' ? 32 : 128]
}

function isHostName(text: string): boolean {
  // Every URL parser reads a host that ends in a number as an IPv4 address.
  return (
    /^(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/.test(text) &&
    !/(^|\.)(\d+|0x[0-9a-f]*)$/.test(text)
  )
}
