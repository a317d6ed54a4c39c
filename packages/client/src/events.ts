// Server-sent events from a byte stream (HTML Living Standard, 9.2.6). EventSource cannot send an Authorization header.

/** One event. */
export interface ServerEvent {
  readonly type: string
  readonly data: string
  /** The last id so far, this event's own included; empty if there was none. */
  readonly id: string
}

/** The events of a body, until it ends. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const text = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
  let rest = ''
  let event = { type: '', data: [] as string[] }
  let id = ''
  for await (const piece of text) {
    // A carriage return at the very end may be the first half of a line end.
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (event.data.length > 0) yield { type: event.type || 'message', data: event.data.join('\n'), id }
        event = { type: '', data: [] }
        continue
      }
      const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
      if (field === 'event') event.type = value
      else if (field === 'data') event.data.push(value)
      else if (field === 'id') id = value
    }
  }
}
