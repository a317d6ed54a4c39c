// The price of what is being entered: asked for when typing pauses, and always for exactly the input that will be sent.
import { type Api, isAbort } from './api.ts'
import type { JsonObject, QuoteRecord } from './records.ts'

/** What is known of the price. */
export type QuoteState =
  | { readonly state: 'unknown' }
  | { readonly state: 'asking' }
  | { readonly state: 'quoted'; readonly quote: QuoteRecord }
  | { readonly state: 'refused'; readonly error: unknown }

export interface QuoteClock {
  readonly nowMs: () => number
  readonly delayMs: number
}

// A quote that ends sooner than this is not relied on: the request must still arrive.
const leastValidMs = 15_000

export class LiveQuote {
  #state: QuoteState = { state: 'unknown' }
  #quotedInput = ''
  #timer: ReturnType<typeof setTimeout> | undefined
  #asking = new AbortController()
  readonly #api: Pick<Api, 'post'>
  readonly #model: string
  readonly #onState: (state: QuoteState) => void
  readonly #clock: QuoteClock

  constructor(
    api: Pick<Api, 'post'>,
    model: string,
    onState: (state: QuoteState) => void,
    clock: QuoteClock = { nowMs: Date.now, delayMs: 350 },
  ) {
    this.#api = api
    this.#model = model
    this.#onState = onState
    this.#clock = clock
  }

  /** The input is now this one; null while it is not complete. */
  change(input: JsonObject | null): void {
    this.stop()
    if (!input) return this.#set({ state: 'unknown' })
    if (this.#state.state === 'quoted' && this.#quotedInput === JSON.stringify(input)) return this.#onState(this.#state)
    this.#set({ state: 'asking' })
    this.#timer = setTimeout(() => void this.ask(input).catch(() => {}), this.#clock.delayMs)
  }

  /**
   * A quote for this input that is good for a while yet: the one at hand, or a new one.
   * @throws Refusal or Unreachable
   */
  async ask(input: JsonObject): Promise<QuoteRecord> {
    const text = JSON.stringify(input)
    const { nowMs } = this.#clock
    if (
      this.#state.state === 'quoted' &&
      this.#quotedInput === text &&
      Date.parse(this.#state.quote.expires_at) - nowMs() > leastValidMs
    )
      return this.#state.quote
    this.stop()
    this.#asking = new AbortController()
    const { signal } = this.#asking
    this.#set({ state: 'asking' })
    try {
      const quote = await this.#api.post<QuoteRecord>('/v1/quotes', { model: this.#model, input }, { signal })
      if (!signal.aborted) {
        this.#quotedInput = text
        this.#set({ state: 'quoted', quote })
      }
      return quote
    } catch (error) {
      if (!isAbort(error) && !signal.aborted) this.#set({ state: 'refused', error })
      throw error
    }
  }

  /** The quote at hand is of no more use. */
  forget(): void {
    this.#quotedInput = ''
    this.#state = { state: 'unknown' }
  }

  /** Asks no more. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#asking.abort()
  }

  #set(state: QuoteState): void {
    this.#state = state
    this.#onState(state)
  }
}
