// A name server on 127.0.0.1 under the control of a test. RFC 1035, section 4.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'

const typeA = 1
const headBytes = 12
const nameError = 3

/** What a name leads to: IPv4 addresses, nothing at all, or no answer ever. */
export type Zone = (name: string) => readonly string[] | 'unknown' | 'silent'

/** Starts a name server that answers from a zone. */
export async function openNameServer(zone: Zone): Promise<{ address: string; asked: string[] } & AsyncDisposable> {
  const asked: string[] = []
  const socket = createSocket('udp4', (query, from) => {
    const { name, end } = readName(query)
    asked.push(name)
    const found = zone(name)
    if (found === 'silent') return
    const addresses = found === 'unknown' || query.readUInt16BE(end) !== typeA ? [] : found
    socket.send(toAnswer(query.subarray(0, end + 4), addresses, found === 'unknown' ? nameError : 0), from.port)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    async [Symbol.asyncDispose]() {
      socket.close()
      await once(socket, 'close')
    },
  }
}

function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let at = headBytes
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 }
}

function toAnswer(question: Buffer, addresses: readonly string[], code: number): Buffer {
  const head = Buffer.from(question)
  // An answer, recursion available.
  head.writeUInt16BE(0x8180 | code, 2)
  head.writeUInt16BE(addresses.length, 6)
  head.writeUInt32BE(0, 8)
  const records = addresses.map((address) =>
    // The name of the question, type A, class IN, for a minute, four bytes.
    Buffer.from([0xc0, headBytes, 0, typeA, 0, 1, 0, 0, 0, 60, 0, 4, ...address.split('.').map(Number)]),
  )
  return Buffer.concat([head, ...records])
}
