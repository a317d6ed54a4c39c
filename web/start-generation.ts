// Starts a generation without paying twice: one Idempotency-Key per intention, kept until the server has answered.
import { mayPass, Refused } from '@mediagen/client/errors.ts'
import type { JobRecord, JsonObject, QuoteRecord } from './records.ts'

/** An intended generation whose outcome is unknown. */
export interface Attempt {
  readonly idempotencyKey: string
  readonly model: string
  readonly input: JsonObject
  readonly quote: QuoteRecord
}

/** Sends attempts; `pending` must be repeated unchanged before another attempt is made. */
export class GenerationStarter {
  #pending: Attempt | null = null
  readonly #send: (attempt: Attempt) => Promise<JobRecord>
  readonly #newKey: () => string

  /** @param send repeats by itself what no answer came to */
  constructor(send: (attempt: Attempt) => Promise<JobRecord>, newKey: () => string) {
    this.#send = send
    this.#newKey = newKey
  }

  /** The attempt for this model and input without an answer; null if there is none. */
  pendingFor(model: string, input: JsonObject): Attempt | null {
    const attempt = this.#pending
    return attempt && attempt.model === model && JSON.stringify(attempt.input) === JSON.stringify(input)
      ? attempt
      : null
  }

  /**
   * Starts the generation, with the key and quote of the last attempt if that had no answer.
   * @throws Refused if the server refused; Unreachable if it never answered. The attempt stays pending if it may still succeed.
   */
  async start(model: string, input: JsonObject, quote: QuoteRecord): Promise<JobRecord> {
    const attempt = this.pendingFor(model, input) ?? { idempotencyKey: this.#newKey(), model, input, quote }
    this.#pending = attempt
    try {
      const job = await this.#send(attempt)
      this.#pending = null
      return job
    } catch (error) {
      // A final refusal says that nothing was started. "Later" says nothing about an earlier attempt whose answer was lost.
      if (error instanceof Refused && !mayPass(error)) this.#pending = null
      throw error
    }
  }
}
