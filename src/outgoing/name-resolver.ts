// Resolves host names from clients over DNS directly. The operating system's resolver works on two names at a time (libuv gives
// it half of its four threads), so a few names whose servers never answer would delay all others.
import { lookup, type LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import type { AllowedHosts } from './hosts.ts'

// Each name server is queried twice, the second time with twice the time limit.
const firstTryMs = 2000
const tries = 2
const unknownName: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA'])

export interface NameResolverOptions {
  readonly allowed: AllowedHosts
  /** Time limit of the first query to a name server, in milliseconds. Default: 2000. */
  readonly tryMs?: number
  /** Name servers, `address:port`. Default: the system's. */
  readonly servers?: readonly string[]
  /** The operating system's resolver; a test may pass its own. */
  readonly system?: typeof lookup
}

export interface NameResolver {
  /** Like `dns.lookup` with `all`. */
  readonly resolve: typeof lookup
  /** Cancels running queries. */
  cancel(): void
}

/**
 * Names that an operator trusts, or that DNS does not have, go to the operating system's resolver: names that the settings allow,
 * names of one label (`localhost`), and, if private networks are allowed, names that are not in DNS.
 */
export function createNameResolver(options: NameResolverOptions): NameResolver {
  const { allowed, tryMs = firstTryMs, servers, system = lookup } = options
  const dns = new Resolver({ timeout: tryMs, tries })
  if (servers) dns.setServers(servers)

  const askSystem = (hostname: string): Promise<LookupAddress[]> =>
    new Promise((done, fail) =>
      system(hostname, { all: true }, (error, addresses) => (error ? fail(error) : done(addresses))),
    )

  async function find(hostname: string): Promise<LookupAddress[]> {
    const name = hostname.toLowerCase().replace(/\.$/, '')
    if (!name.includes('.') || allowed.names.has(name)) return askSystem(hostname)
    const answers = await Promise.allSettled([dns.resolve4(name), dns.resolve6(name)])
    const addresses = answers.flatMap((answer, index) =>
      answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
    )
    if (addresses.length > 0) return addresses
    const codes = answers.map((answer) =>
      answer.status === 'rejected' ? (answer.reason as { code: string }).code : '',
    )
    const isUnknown = codes.every((code) => unknownName.has(code))
    // No name server runs, or the names of private hosts are elsewhere, such as in a hosts file.
    if (codes.includes('ECONNREFUSED') || (isUnknown && allowed.networks.length > 0)) return askSystem(hostname)
    const code = isUnknown ? 'ENOTFOUND' : 'EAI_AGAIN'
    throw Object.assign(new Error(`${hostname} could not be resolved: ${codes.join(', ')}`), { code })
  }

  function resolve(
    hostname: string,
    _options: object,
    callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
  ): void {
    find(hostname).then(
      (addresses) => callback(null, addresses),
      (error: NodeJS.ErrnoException) => callback(error, []),
    )
  }

  return { resolve: resolve as unknown as typeof lookup, cancel: () => dns.cancel() }
}
