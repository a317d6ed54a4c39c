// The price while typing: one question for each pause, the answer only for the input it was asked for.
import { expect, test, vi } from 'vitest'
import type { CallOptions } from '../../web/api.ts'
import { LiveQuote, type QuoteState } from '../../web/live-quote.ts'

function createQuotes() {
  const states: QuoteState[] = []
  const asked: { input: unknown; answer: (credits: number) => void; signal: AbortSignal | undefined }[] = []
  const clock = { nowMs: () => Date.parse('2026-11-20T10:00:00Z'), delayMs: 300 }
  const api = {
    post<Answer>(_path: string, body?: unknown, options?: CallOptions): Promise<Answer> {
      return new Promise((resolve, reject) => {
        options?.signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')))
        const answer = (credits: number): void =>
          resolve({
            quote_id: `quote_${asked.length}`,
            model: 'm',
            credits,
            expires_at: '2026-11-20T10:10:00Z',
          } as Answer)
        asked.push({ input: (body as { input: unknown }).input, answer, signal: options?.signal })
      })
    },
  }
  return { quotes: new LiveQuote(api, 'm', (state) => states.push(state), clock), states, asked, clock }
}

test('typing asks once, when it pauses, and for the last input', async () => {
  vi.useFakeTimers()
  try {
    const { quotes, states, asked } = createQuotes()
    for (const prompt of ['a', 'ab', 'abc']) quotes.change({ prompt })
    await vi.advanceTimersByTimeAsync(299)
    expect(asked).toHaveLength(0)
    await vi.advanceTimersByTimeAsync(1)
    expect(asked.map(({ input }) => input)).toEqual([{ prompt: 'abc' }])
    asked[0]?.answer(7)
    await vi.advanceTimersByTimeAsync(0)
    expect(states.at(-1)).toMatchObject({ state: 'quoted', quote: { credits: 7 } })
    quotes.change(null)
    expect(states.at(-1)).toEqual({ state: 'unknown' })
  } finally {
    vi.useRealTimers()
  }
})

test('an answer to an input that is no more is dropped', async () => {
  const { quotes, states, asked } = createQuotes()
  const old = quotes.ask({ prompt: 'a' })
  const current = quotes.ask({ prompt: 'b' })
  await expect(old).rejects.toThrow('aborted')
  asked[1]?.answer(2)
  expect((await current).credits).toBe(2)
  expect(states.filter(({ state }) => state === 'quoted' || state === 'refused')).toHaveLength(1)
})

test('a quote at hand is used until shortly before its end', async () => {
  const { quotes, asked, clock } = createQuotes()
  const first = quotes.ask({ prompt: 'a' })
  asked[0]?.answer(2)
  await first
  await quotes.ask({ prompt: 'a' })
  expect(asked).toHaveLength(1)
  clock.nowMs = () => Date.parse('2026-11-20T10:09:50Z')
  const second = quotes.ask({ prompt: 'a' })
  expect(asked).toHaveLength(2)
  asked[1]?.answer(2)
  await second
})
