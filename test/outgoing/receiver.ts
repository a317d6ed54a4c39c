// A real HTTP server that receives webhooks on 127.0.0.1, and answers as the test says.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** One request, as it came. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  // Tests look into events at will.
  readonly event: any
}

/** A server under the control of a test. */
export interface Receiver extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** Everything received so far. */
  readonly received: readonly Received[]
  /** How requests are answered from now on: a status, or whatever the test does with the response. */
  answer: number | ((response: ServerResponse, received: Received) => void)
  /** The next request that no call has returned yet. */
  next(): Promise<Received>
}

/** Starts a receiver that answers 200. */
export async function openReceiver(port = 0): Promise<Receiver> {
  const received: Received[] = []
  const arrivals = new EventTarget()
  let returned = 0
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const arrived = { path: request.url ?? '', headers: request.headers, body, event: JSON.parse(body || 'null') }
      received.push(arrived)
      if (typeof receiver.answer === 'number') response.writeHead(receiver.answer).end()
      else receiver.answer(response, arrived)
      arrivals.dispatchEvent(new Event('arrived'))
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: bound } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://127.0.0.1:${bound}/hooks`,
    port: bound,
    received,
    answer: 200,
    async next() {
      const index = returned++
      while (received.length <= index) await once(arrivals, 'arrived')
      return received[index] as Received
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return receiver
}
