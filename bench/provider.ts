// A provider that speaks OpenAI's API for pictures and answers at once. It lives in the process of the load, so every side
// meets the same, and no server's core works for it.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The picture that it answers with: a PNG of one pixel. */
const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const answers: Readonly<Record<string, string>> = {
  'POST /v1/images/generations': JSON.stringify({ created: 1_790_000_000, data: [{ b64_json: picture }] }),
  'GET /v1/models': JSON.stringify({ object: 'list', data: [] }),
}

/** A provider that runs. */
export interface BenchProvider extends AsyncDisposable {
  readonly port: number
}

/** Starts one on the loopback. */
export async function startProvider(): Promise<BenchProvider> {
  const server = createServer((request, response) => {
    const answer = answers[`${request.method} ${request.url}`] ?? ''
    request.resume().once('end', () => {
      response.writeHead(answer === '' ? 404 : 200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(answer),
      })
      response.end(answer)
    })
  })
  // As long as the benchmark lasts.
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
