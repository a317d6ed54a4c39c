// Server-sent events, however the bytes are cut.
import { readEvents, type ServerEvent } from '@mediagen/client/events.ts'
import { expect, test } from 'vitest'

const stream =
  'retry: 1500\n\nid: 1\nevent: job\ndata: {"a":1}\n\n: still here\n\nid: 2\nevent: job\ndata: one\ndata: two\n\nid: \0\ndata:bare\n\n'
const events: ServerEvent[] = [
  { type: 'job', data: '{"a":1}', id: '1' },
  { type: 'job', data: 'one\ntwo', id: '2' },
  { type: 'message', data: 'bare', id: '2' },
]

/** The events of a text that arrives in pieces of so many bytes. */
async function read(text: string, size: number): Promise<ServerEvent[]> {
  const bytes = new TextEncoder().encode(text)
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size))
      controller.close()
    },
  })
  return Array.fromAsync(readEvents(body))
}

test.each([1, 2, 3, 7, 1000])('the same events in pieces of %i bytes', async (size) => {
  expect(await read(stream, size)).toEqual(events)
})

test.each([1, 2, 1000])('lines may end in carriage returns, in pieces of %i', async (size) => {
  for (const end of ['\r\n', '\r']) expect(await read(`${stream.replaceAll('\n', end)}\n`, size)).toEqual(events)
})

test('an event that the stream broke off is not one', async () => {
  expect(await read('event: job\ndata: half', 1000)).toEqual([])
})

test('a body is read as UTF-8, whatever the pieces; leaving early cancels it', async () => {
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
