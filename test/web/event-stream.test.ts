// Server-sent events, however the bytes are cut.
import { expect, test } from 'vitest'
import { EventParser, readEvents, type ServerEvent } from '../../web/event-stream.ts'

const stream =
  'retry: 1500\n\nid: 1\nevent: job\ndata: {"a":1}\n\n: still here\n\nid: 2\nevent: job\ndata: one\ndata: two\n\ndata:bare\n\n'
const events: ServerEvent[] = [
  { type: 'job', data: '{"a":1}', lastEventId: '1' },
  { type: 'job', data: 'one\ntwo', lastEventId: '2' },
  { type: 'message', data: 'bare', lastEventId: '2' },
]

test.each([1, 2, 3, 7, 1000])('the same events in pieces of %i characters', (size) => {
  const parser = new EventParser()
  const found: ServerEvent[] = []
  for (let at = 0; at < stream.length; at += size) found.push(...parser.push(stream.slice(at, at + size)))
  expect(found).toEqual(events)
  expect(parser.retryMs).toBe(1500)
})

test.each([1, 2, 1000])('lines may end in carriage returns, in pieces of %i', (size) => {
  for (const end of ['\r\n', '\r']) {
    const text = `${stream.replaceAll('\n', end)}\n`
    const parser = new EventParser()
    const found: ServerEvent[] = []
    for (let at = 0; at < text.length; at += size) found.push(...parser.push(text.slice(at, at + size)))
    expect(found).toEqual(events)
  }
})

test('an event that the stream broke off is not one', () => {
  expect(new EventParser().push('event: job\ndata: half')).toEqual([])
})

test('a body is read as UTF-8, whatever the chunks; leaving early ends it', async () => {
  const bytes = new TextEncoder().encode('data: Łódź · 東京\n\ndata: second\n\n')
  let canceled = false
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte))
    },
    cancel() {
      canceled = true
    },
  })
  for await (const event of readEvents(body)) {
    expect(event.data).toBe('Łódź · 東京')
    break
  }
  expect(canceled).toBe(true)
})
