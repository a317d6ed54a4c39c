// Accounts with credits and a key, made in a data directory before a server opens it; and the requests that they send.
import { openStore } from '../src/app/store/store.ts'
import { createKeySecret, hashKeySecret, keyPrefix } from '../src/core/accounts/key.ts'
import { type Limits, noLimits } from '../src/core/accounts/limits.ts'
import type { HttpRequest } from './http-load.ts'
import { createTimeOrderedKey } from './time-ordered-key.ts'

/** More than any run can spend. */
const plenty = 1_000_000_000_000

/** An account that may generate and look. */
export interface BenchAccount {
  readonly accountId: string
  readonly headers: Readonly<Record<string, string>> & { readonly authorization: string }
}

/** The model and input that are quoted and generated: one that ships, with a schema, defaults and a computed price. */
export const order = {
  model: 'builtin/image/art/text-to-image',
  input: {
    prompt: 'mountains at sunrise above a quiet lake, haze',
    style: 'ridges',
    width: 1024,
    height: 768,
    seed: 7,
  },
}

/** Makes an account. */
export async function createBenchAccount(
  dataDir: string,
  databaseUrl: string | null = null,
  limits: Limits = noLimits,
): Promise<BenchAccount> {
  await using store = await openStore({ dataDir, databaseUrl }, { migrates: true })
  const { accountId } = await store.createAccount('bench', plenty)
  const secret = createKeySecret()
  await store.createKey({
    accountId,
    name: null,
    prefix: keyPrefix(secret),
    secretHash: hashKeySecret(secret),
    permissions: ['generate', 'models:read', 'jobs:read', 'wallet:read', 'webhooks'],
    expiresAtMs: null,
    limits,
    makerId: null,
  })
  return { accountId, headers: { authorization: `Bearer ${secret}` } }
}

/** A request outside the measurement; answers with the body. @throws Error when it is refused */
export async function ask(url: string, account: BenchAccount, path: string, body?: unknown): Promise<string> {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...account.headers, 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
  return text
}

/** Quotes an order; the request starts it without waiting, each time with another Idempotency-Key. */
export async function quoteStart(url: string, account: BenchAccount, ordered: object): Promise<HttpRequest> {
  const { quote_id } = JSON.parse(await ask(url, account, '/v1/quotes', ordered)) as { quote_id: string }
  const body = { ...ordered, quote_id }
  return {
    method: 'POST',
    path: '/v1/generate',
    headers: account.headers,
    body,
    idempotencyKey: createTimeOrderedKey,
  }
}
