// Resolves the names of strangers' hosts over DNS itself. The resolver of the operating system works on two names at a time
// (libuv gives it half of its four threads), so a few names whose servers never answer would hold up everybody's.
import { lookup, type LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import type { AllowedHosts } from './hosts.ts'

// Each name server is asked twice; the second time it may take twice as long.
const firstTryMs = 2000
const tries = 2
const unknownName: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA'])

/** What a resolver is made of. */
export interface NameResolverOptions {
  readonly allowed: AllowedHosts
  /** How long the first answer of a name server may take, in milliseconds. Default: 2000. */
  readonly tryMs?: number
  /** Name servers, `address:port`. Default: those of the system. */
  readonly servers?: readonly string[]
  /** The resolver of the operating system; a test may pass its own. */
  readonly system?: typeof lookup
}

/** Resolves names. */
export interface NameResolver {
  /** To be used like `dns.lookup`, with `all`. */
  readonly resolve: typeof lookup
  /** Gives up what is under way. */
  cancel(): void
}

/**
 * Creates a resolver. The operating system is asked for what an operator trusts or DNS does not know: names that the settings
 * allow, names of one label (`localhost`), and where private networks are allowed, names that are in no DNS.
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
    // No name server runs here, or an operator has names of private hosts elsewhere, such as in a hosts file.
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
