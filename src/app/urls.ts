// At which addresses this server is reached.
import type { Config } from '../config.ts'

/** Whether URLs name the host that a request was sent to: nobody said how clients reach this server, and it listens on all addresses. */
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
