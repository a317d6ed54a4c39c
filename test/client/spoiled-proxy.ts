// A proxy between a client and a server, which loses answers and cuts lines where a test says so.
import { createServer, request as sendRequest, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A proxy in front of the server, which `handle` may spoil; `handle` returns false for what is to go through. */
export async function openProxy(
  url: string,
  handle: (path: string, pass: () => void, response: Parameters<RequestListener>[1]) => boolean,
) {
  const server = createServer((request, response) => {
    const pass = (): void => {
      const headers = request.headers
      const onward = sendRequest(`${url}${request.url}`, { method: request.method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
      })
      request.pipe(onward)
    }
    if (!handle(`${request.method} ${request.url}`, pass, response)) pass()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
