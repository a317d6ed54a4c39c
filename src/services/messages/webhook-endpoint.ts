// The URL and the secret of a webhook endpoint: checks the one, and creates the other in the form of Standard Webhooks.
import { randomBytes } from 'node:crypto'
import { hasAtMost } from '../../schema/lengths.ts'

const secretPrefix = 'whsec_'
const secretBytes = 32
const longestUrl = 2048

/** Creates the secret of a new endpoint. */
export function createWebhookSecret(): Buffer {
  return randomBytes(secretBytes)
}

/** A secret in the form that the owner of the endpoint sees and that verifying libraries accept. */
export function toSecretText(secret: Buffer): string {
  return secretPrefix + secret.toString('base64')
}

/** Where webhooks may be sent. */
export interface WebhookTargets {
  /** Whether the host of a URL is a forbidden address or a name of this machine; other names are checked when they are resolved. */
  readonly isRefusedHost: (host: string) => boolean
  /** Why the port of a URL is forbidden, as a clause; null if it is allowed. */
  readonly findRefusedPort: (url: URL) => string | null
}

/** What is wrong with the URL of a webhook, completing "/url …"; null if nothing is. Its address is checked with each connection. */
export function findBadWebhookUrl(text: string, targets: WebhookTargets): string | null {
  return findBadForm(text) ?? findBadTarget(new URL(text), targets)
}

function findBadTarget(url: URL, { isRefusedHost, findRefusedPort }: WebhookTargets): string | null {
  if (isRefusedHost(url.hostname))
    return 'must lead to a public address; this server sends webhooks to no other (MEDIAGEN_WEBHOOK_ALLOW_PRIVATE)'
  const refusedPort = findRefusedPort(url)
  return refusedPort && `must have another port: ${refusedPort}`
}

function findBadForm(text: string): string | null {
  if (!hasAtMost(text, longestUrl)) return `must have at most ${longestUrl} characters`
  const url = URL.parse(text)
  if (!url) return 'must be an absolute URL, such as https://example.com/hooks'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https:// or http://'
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or a password'
  if (text.includes('#')) return 'must not have a fragment (#)'
  return null
}
