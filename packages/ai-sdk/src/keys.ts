// Idempotency keys for calls that the AI SDK repeats without saying so. It splits `n` into equal calls at a time and repeats
// each one that failed, always with new options, but with the `headers` object of its own call.
import { createIdempotencyKey } from '@mediagen/client/generate.ts'

/** A call of a model, as far as its identity is concerned. */
export interface Call {
  readonly headers?: Record<string, string | undefined> | undefined
}

/** A key that a request is sent with. */
export interface Attempt {
  readonly key: string
  /** The request may be repeated: the next equal one of the same call gets the key. */
  giveBack(): void
}

/** Keys of the requests of one call of `generateImage` and the like. */
export interface Keys {
  /** @param request the whole request as text */
  take(request: string): Attempt
  /** What `make` makes of a text, once for the call unless it fails. */
  once(text: string, make: () => Promise<string>): Promise<string>
}

/** Creates the keys of a provider; `keysOf(call)` are the same for the same `headers`. */
export function createKeyring(): (call: Call) => Keys {
  // The AI SDK lets go of the headers when its call ends.
  const known = new WeakMap<object, Keys>()
  return (call) => {
    const identity = call.headers ?? call
    const keys = known.get(identity) ?? createKeys(findKey(call.headers) ?? createIdempotencyKey())
    known.set(identity, keys)
    return keys
  }
}

function createKeys(base: string): Keys {
  const returned: { request: string; key: string }[] = []
  const made = new Map<string, Promise<string>>()
  let count = 0
  return {
    take(request) {
      const place = returned.findIndex((one) => one.request === request)
      const [earlier] = place >= 0 ? returned.splice(place, 1) : []
      // A key that the caller chose stays as it is where there is one request.
      const key = earlier?.key ?? (count === 0 ? base : `${base}-${count}`)
      if (!earlier) count += 1
      return { key, giveBack: () => void returned.push({ request, key }) }
    },
    once(text, make) {
      const earlier = made.get(text)
      if (earlier) return earlier
      const making = make()
      made.set(text, making)
      making.catch(() => made.delete(text))
      return making
    },
  }
}

const keyHeader = 'idempotency-key'

/** The key that the caller, or the AI SDK for a video, sends. */
function findKey(headers: Call['headers']): string | undefined {
  return Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === keyHeader)?.[1]
}
