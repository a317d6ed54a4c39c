// Parses server-sent events from a byte stream (HTML Living Standard, 9.2.6). EventSource cannot send an Authorization header.

export interface ServerEvent {
  readonly type: string
  readonly data: string
  /** The last id so far, including this event's own; empty if there was none. */
  readonly lastEventId: string
}

/** Parses text in chunks of any size. */
export class EventParser {
  /** The reconnection delay that the server requests. */
  retryMs: number | null = null
  #rest = ''
  #type = ''
  #data: string[] = []
  #lastEventId = ''

  /** Takes a chunk; returns the events that it completes. */
  push(piece: string): ServerEvent[] {
    const events: ServerEvent[] = []
    const text = this.#rest + piece
    // A carriage return at the very end may be the first half of a line end.
    const lines = text.split(/\r\n|\n|\r(?!$)/)
    this.#rest = lines.pop() ?? ''
    for (const line of lines) {
      const event = this.#takeLine(line)
      if (event) events.push(event)
    }
    return events
  }

  #takeLine(line: string): ServerEvent | null {
    if (line === '') return this.#dispatch()
    if (line.startsWith(':')) return null
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') this.#type = value
    else if (field === 'data') this.#data.push(value)
    else if (field === 'id' && !value.includes('\0')) this.#lastEventId = value
    else if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value)
    return null
  }

  #dispatch(): ServerEvent | null {
    const event = { type: this.#type || 'message', data: this.#data.join('\n'), lastEventId: this.#lastEventId }
    const empty = this.#data.length === 0
    this.#type = ''
    this.#data = []
    return empty ? null : event
  }
}

/** The events of an answer's body, until it ends. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  parser = new EventParser(),
): AsyncGenerator<ServerEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield* parser.push(decoder.decode(value, { stream: true }))
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
