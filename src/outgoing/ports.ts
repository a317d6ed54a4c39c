// The ports of other hosts that requests may go to: web ports, but not those of mail servers, shells or printers.

const webPorts: ReadonlySet<number> = new Set([80, 443])
const firstFreePort = 1024
// The ports from 1024 on that the Fetch standard blocks (fetch.spec.whatwg.org, "Port blocking"), as browsers do: H.323, PPTP,
// NFS, SIP, X11, IRC and others whose protocols a crafted request could speak.
const blockedPorts: ReadonlySet<number> = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
])

/** Ports that an operator allows in addition to web ports. */
export type AllowedPorts = Pick<ReadonlySet<number>, 'has'>

/** No additional ports. */
export const noFurtherPorts: AllowedPorts = new Set()

/** Every port, for hosts that an operator named. */
export const everyPort: AllowedPorts = { has: () => true }

/** A connection that was refused because of its port. */
export class RefusedPortError extends Error {
  constructor(words: string) {
    super(words)
    this.name = 'RefusedPortError'
  }
}

/** Why the port of an http: or https: URL is forbidden, as a clause; null if it is allowed. */
export function findRefusedPort(
  allowed: AllowedPorts,
  { protocol, port: written }: { readonly protocol: string; readonly port: string },
): string | null {
  const port = written === '' ? (protocol === 'https:' ? 443 : 80) : Number(written)
  if (webPorts.has(port) || allowed.has(port) || (port >= firstFreePort && !blockedPorts.has(port))) return null
  return `the port ${port} is refused; requests go to 80, 443 and those from 1024 on that browsers do not block (MEDIAGEN_ALLOW_PORTS)`
}

/**
 * Parses a list of ports, separated by commas.
 * @throws Error whose message completes "… must be"
 */
export function parseAllowedPorts(text: string): AllowedPorts {
  const ports = text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean)
  if (!ports.every((port) => /^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535))
    throw new Error('must be ports, 1 to 65535, separated by commas')
  return new Set(ports.map(Number))
}
