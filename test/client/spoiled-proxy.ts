// A proxy between a client and a server, which loses answers and cuts lines where a test says so.
import { createServer, type IncomingHttpHeaders, request as sendRequest, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A proxy in front of the server, which `handle` may spoil; `handle` returns false for what is to go through. */
export async function openProxy(
  url: string,
  handle: (
    path: string,
    pass: () => void,
    response: Parameters<RequestListener>[1],
    headers: IncomingHttpHeaders,
  ) => boolean,
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
    if (!handle(`${request.method} ${request.url}`, pass, response, request.headers)) pass()
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

/**
 * A proxy that cuts the first watch of a job when an event has gone through.
 * @param onSecond called when the client watches again
 */
export async function openCuttingProxy(url: string, onSecond: () => void) {
  /** What each watch said it had seen last. */
  const watches: (string | undefined)[] = []
  const proxy = await openProxy(url, (path, pass, response, headers) => {
    if (!path.endsWith('/events')) return false
    watches.push(headers['last-event-id']?.toString())
    if (watches.length === 2) onSecond()
    if (watches.length > 1) return false
    const write = response.write.bind(response)
    response.write = (piece: Buffer) =>
      write(piece, () => {
        // Not by a reset, which may overtake what was sent.
        if (piece.includes('data:')) response.socket?.end()
      })
    pass()
    return true
  })
  return { ...proxy, watches }
}

const starts: ReadonlySet<string> = new Set(['POST /v1/generate', 'POST /v1/run'])

/** A proxy that loses the answers to the first starts. */
export async function openForgetfulProxy(url: string, lost = 2) {
  const seen = { starts: 0 }
  const proxy = await openProxy(url, (path, pass, response) => {
    if (!starts.has(path) || (seen.starts += 1) > lost) return false
    pass()
    response.write = () => !response.destroy()
    return true
  })
  return { ...proxy, seen }
}
