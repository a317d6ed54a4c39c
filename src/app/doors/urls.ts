// At which addresses this server is reached.
import type { Config } from '../../config.ts'

/** Whether URLs name the host of the request: the settings name no public URL, and the server listens on all addresses. */
export function followsCaller({ publicUrl, host }: Pick<Config, 'publicUrl' | 'host'>): boolean {
  return publicUrl === null && isAnyAddress(host)
}

function isAnyAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

/** The address of a server as this machine reaches it. */
export function toUrl(host: string, port: number): string {
  const reachable = isAnyAddress(host) ? '127.0.0.1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}
