// Starts a generation without paying twice: one Idempotency-Key per intention, kept until the server has answered.
import { type Api, Refusal, Unreachable } from './api.ts'
import type { JobRecord, JsonObject, QuoteRecord } from './records.ts'

/** An intended generation whose outcome is unknown. */
export interface Attempt {
  readonly idempotencyKey: string
  readonly model: string
  readonly input: JsonObject
  readonly quote: QuoteRecord
}

const pausesMs = [500, 1500, 4000]

/** Sends attempts; `pending` must be repeated unchanged before another attempt is made. */
export class GenerationStarter {
  #pending: Attempt | null = null
  readonly #api: Pick<Api, 'post'>
  readonly #sleep: (ms: number) => Promise<void>
  readonly #newKey: () => string

  constructor(api: Pick<Api, 'post'>, sleep: (ms: number) => Promise<void>, newKey: () => string) {
    this.#api = api
    this.#sleep = sleep
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
   * Starts the generation; after a failed connection it repeats the same key and body.
   * @throws Refusal if the server refused; Unreachable if it never answered, and the attempt stays pending
   */
  async start(model: string, input: JsonObject, quote: QuoteRecord): Promise<JobRecord> {
    const attempt = this.pendingFor(model, input) ?? { idempotencyKey: this.#newKey(), model, input, quote }
    this.#pending = attempt
    for (let tries = 0; ; tries += 1) {
      try {
        const job = await this.#send(attempt)
        this.#pending = null
        return job
      } catch (error) {
        const pauseMs = pausesMs[tries]
        // A refusal is an answer: nothing was started, and the key is free again. A server error is not.
        if (error instanceof Refusal && error.problem.status < 500) this.#pending = null
        if (!(error instanceof Unreachable) || pauseMs === undefined) throw error
        await this.#sleep(pauseMs)
      }
    }
  }

  #send({ idempotencyKey, model, input, quote }: Attempt): Promise<JobRecord> {
    return this.#api.post<JobRecord>(
      '/v1/generate',
      { model, input, quote_id: quote.quote_id },
      { headers: { 'idempotency-key': idempotencyKey } },
    )
  }
}
