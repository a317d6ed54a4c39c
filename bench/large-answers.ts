// Load over HTTP with large answers, whose bytes it counts. autocannon reads 55 kB more slowly than a server sends them: the server
// then has one request at a time, its caches are cold, and nobody sees what it can do.
import { connect } from 'node:net'
import { connections, type HttpRequest } from './http-load.ts'
import { toRequest } from './raw-client.ts'

const mostBytesAtOnce = 256 * 1024
const mostBytesOfHead = 2048

/** Asks for `seconds`, as `fireHttp` does. @throws Error when any answer was not 200 or did not come */
export async function fireLarge(url: string, request: HttpRequest, seconds: number): Promise<number> {
  const text = toRequest(request.method, request.path, request.headers ?? {})
  const endsAt = performance.now() + seconds * 1000
  const requests = Array.from({ length: connections }, () => askUntil(endsAt, Number(new URL(url).port), text))
  const counts = await Promise.all(requests)
  return counts.reduce((sum, count) => sum + count, 0)
}

/** Asks on one connection, again and again; answers with how many answers came. */
function askUntil(endsAt: number, port: number, request: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const buffer = Buffer.alloc(mostBytesAtOnce)
    let answers = 0
    let left = 0
    const callback = (size: number): boolean => {
      left = (left || measure(buffer, size)) - size
      if (left > 0) return true
      if (left === 0) answers += 1
      else reject(new Error('an answer that is not 200, or has another length than it says'))
      if (left === 0 && performance.now() < endsAt) socket.write(request)
      else socket.destroy()
      return true
    }
    const socket = connect({ host: '127.0.0.1', port, onread: { buffer, callback } })
    socket.on('connect', () => socket.write(request))
    socket.on('error', reject)
    socket.on('end', () => reject(new Error('the server hung up')))
    socket.on('close', () => resolve(answers))
  })
}

/** Bytes of the answer that begins here, its head included; 0 if it is not the expected one. */
function measure(buffer: Buffer, size: number): number {
  const head = buffer.toString('latin1', 0, Math.min(size, mostBytesOfHead))
  const end = head.indexOf('\r\n\r\n')
  const length = /\r\ncontent-length: (\d+)\r/i.exec(head)?.[1]
  return head.startsWith('HTTP/1.1 200 ') && length !== undefined ? end + 4 + Number(length) : 0
}
