// The live price: requested when typing pauses (debounced), always for exactly the input that will be sent.
import { type Api, isAbort } from './api.ts'
import type { JsonObject, QuoteRecord } from './records.ts'

/** The state of the price. */
export type QuoteState =
  | { readonly state: 'unknown' }
  | { readonly state: 'asking' }
  | { readonly state: 'quoted'; readonly quote: QuoteRecord }
  | { readonly state: 'refused'; readonly error: unknown }

export interface QuoteClock {
  readonly nowMs: () => number
  readonly delayMs: number
}

// A quote that expires sooner than this is not used, because the request must still arrive.
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

  /** Sets the input; null while it is incomplete. */
  change(input: JsonObject | null): void {
    this.stop()
    if (!input) return this.#set({ state: 'unknown' })
    if (this.#state.state === 'quoted' && this.#quotedInput === JSON.stringify(input)) return this.#onState(this.#state)
    this.#set({ state: 'asking' })
    this.#timer = setTimeout(() => void this.ask(input).catch(() => {}), this.#clock.delayMs)
  }

  /**
   * A quote for this input that is still valid for a while: the current one or a new one.
   * @throws Refused or Unreachable
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

  /** Discards the current quote. */
  forget(): void {
    this.#quotedInput = ''
    this.#state = { state: 'unknown' }
  }

  /** Stops quoting. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#asking.abort()
  }

  #set(state: QuoteState): void {
    this.#state = state
    this.#onState(state)
  }
}
