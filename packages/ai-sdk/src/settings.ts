// What a program says about money and input: once for the provider, and for a call.
import { InvalidArgumentError, type JSONObject, type SharedV4ProviderOptions } from '@ai-sdk/provider'

/** How the provider reaches a server, and what it may spend there. */
export interface MediagenSettings {
  /** Address of the server, such as `https://media.example`; it may end in `/v1`. */
  readonly baseURL: string
  /** API key, `mgk_…`, with the permissions `generate`, `models:read` and `jobs:read`. */
  readonly apiKey: string
  /**
   * The most that one job may cost, in credits: one picture, one video, one speech. Nothing is started at a higher price.
   * `providerOptions.mediagen.maxCredits` of a call wins.
   */
  readonly maxCredits?: number | undefined
  /** Sent with every request to the server. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** `providerOptions.mediagen` of a call, with the ceiling that holds for it. */
export interface Order {
  readonly maxCredits: number
  /** Fields for the model's input; they win over what the call says otherwise. */
  readonly input: JSONObject
}

/**
 * Reads what a call orders.
 * @throws InvalidArgumentError if it says something else, or no ceiling is set
 */
export function readOrder(settings: MediagenSettings, options: SharedV4ProviderOptions | undefined): Order {
  const { maxCredits = settings.maxCredits, input = {}, ...others } = options?.['mediagen'] ?? {}
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw refuse(unknown, 'it does not exist. Fields of the model belong in providerOptions.mediagen.input.')
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw refuse('input', 'it must be an object.')
  if (maxCredits === undefined)
    throw refuse(
      'maxCredits',
      'a ceiling is needed: set it here, or as maxCredits of createMediagen. Nothing was sent.',
    )
  if (!Number.isSafeInteger(maxCredits) || Number(maxCredits) < 0)
    throw refuse('maxCredits', `it must be a whole number of credits, and is ${JSON.stringify(maxCredits)}.`)
  return { maxCredits: Number(maxCredits), input: input as JSONObject }
}

function refuse(name: string, why: string): InvalidArgumentError {
  const argument = `providerOptions.mediagen.${name}`
  return new InvalidArgumentError({ argument, message: `${argument}: ${why}` })
}
