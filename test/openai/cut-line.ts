// A line that is cut while a job is under way.

/** What holds a job until it is opened. */
interface Gate {
  begun(): Promise<unknown>
  open(): void
}

/**
 * A fetch whose first request is cut when its job has begun; the job goes on with the second.
 * @param error what the client sees of the cut
 */
export function cutFirst(gate: Gate, error = new TypeError('the line was cut')) {
  const line = {
    /** Number of requests. */
    asked: 0,
    async fetched(url: Parameters<typeof fetch>[0], options: RequestInit = {}): Promise<Response> {
      // OpenAI's library tries out what its fetch can do with forms.
      if (String(url).startsWith('data:')) return fetch(url, options)
      line.asked += 1
      if (line.asked > 1) {
        gate.open()
        return fetch(url, options)
      }
      const cut = new AbortController()
      fetch(url, { ...options, signal: cut.signal }).catch(() => {})
      await gate.begun()
      cut.abort()
      throw error
    },
  }
  return line
}
