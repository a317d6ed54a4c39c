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

/** What is wrong with the URL of an endpoint, completing "/url …"; null if nothing is. Its address is checked with each connection. */
export function findBadWebhookUrl(text: string): string | null {
  if (!hasAtMost(text, longestUrl)) return `must have at most ${longestUrl} characters`
  const url = URL.parse(text)
  if (!url) return 'must be an absolute URL, such as https://example.com/hooks'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https:// or http://'
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or a password'
  if (text.includes('#')) return 'must not have a fragment (#)'
  return null
}
