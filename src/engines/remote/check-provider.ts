// Checks whether a provider answers and accepts its key, with the one request of its kind that is free.
import type { ProviderCheck } from '@mediagen/engine/engine.ts'
import type { Greeting } from './backend.ts'
import { type Connection, isObject, NoVerdict } from './connection.ts'

const refusals = [401, 403]

/** What is known before the request. */
export interface KnownOfProvider extends Pick<ProviderCheck, 'key' | 'reason'> {
  readonly timeoutMs: number
}

/** Never throws for what the provider does. */
export async function checkProvider(
  connection: Connection,
  greeting: Greeting | undefined,
  { key, reason, timeoutMs }: KnownOfProvider,
): Promise<ProviderCheck> {
  if (!greeting) return { answers: null, key, reason }
  const { at, also = [], provesKey = false, refuses = [], knowsKey } = greeting
  try {
    const { status, json, headers } = await connection.ask({ method: 'GET', at }, { also, large: true, timeoutMs })
    const isSuccess = status < 300
    if (isSuccess && !isObject(json)) {
      const kind = connection.quote((headers['content-type'] ?? 'no type').split(';')[0])
      return { answers: false, key, reason: `${connection.provider} answered ${kind} where its kind answers JSON` }
    }
    return { answers: true, key: key === 'unknown' && provesKey && isSuccess ? 'works' : key, reason }
  } catch (error) {
    if (!(error instanceof NoVerdict)) throw error
    if (knowsKey?.test(error.message)) return { answers: true, key: key === 'unknown' ? 'works' : key, reason }
    if (error.status === null || ![...refusals, ...refuses].includes(error.status))
      return { answers: false, key, reason: reason === null ? error.message : `${reason}; ${error.message}` }
    if (key === 'unknown') return { answers: true, key: 'refused', reason: error.message }
    return { answers: true, key: 'missing', reason: reason ?? `${error.message}; the catalog names no key (token_env)` }
  }
}
