// Server-sent events from a byte stream (HTML Living Standard, 9.2.6). EventSource cannot send an Authorization header.

/** One event. */
export interface ServerEvent {
  readonly type: string
  readonly data: string
  /** The last id so far, this event's own included; empty if there was none. */
  readonly id: string
}

/** The events of a body, until it ends. Whoever leaves early cancels it. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  // Not every browser can iterate over a stream.
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  let event = { type: '', data: [] as string[] }
  let id = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      // A carriage return at the very end may be the first half of a line end.
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line === '') {
          if (event.data.length > 0) yield { type: event.type || 'message', data: event.data.join('\n'), id }
          event = { type: '', data: [] }
          continue
        }
        const [, field = '', text = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
        if (field === 'event') event.type = text
        else if (field === 'data') event.data.push(text)
        else if (field === 'id' && !text.includes('\0')) id = text
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
