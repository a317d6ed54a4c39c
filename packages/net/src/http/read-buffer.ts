// One buffer into which all connections read. By itself Node allocates memory for each read, which V8 counts as garbage outside its
// heap; with bodies of 20 kB on thousands of connections, the collections that this caused took half of the processor.
import type { Socket } from 'node:net'

// As much as libuv reads at once.
const shared = Buffer.allocUnsafeSlow(65_536)

// Most clients send requests of the same few lengths, so short views of the buffer are kept.
const longestKept = 2048
const kept: (Buffer | undefined)[] = Array.from({ length: longestKept + 1 })

function view(length: number): Buffer {
  if (length > longestKept) return shared.subarray(0, length)
  return (kept[length] ??= shared.subarray(0, length))
}

/** What Node's option `onread` sets; an HTTP server cannot pass that option to the sockets that it accepts. */
type NodeSocket = Record<symbol, unknown> & {
  readonly _handle?: { readonly useUserBuffer?: (buffer: Buffer) => void } | null
}

/**
 * Makes a socket read into the shared buffer.
 * @param take is given received bytes; they are overwritten as soon as it returns. What is put back with `unshift` comes as `data`
 * events, and so does everything where this Node does not know the option.
 */
export function readIntoShared(socket: Socket, take: (bytes: Buffer) => void): void {
  const node = socket as unknown as NodeSocket
  const symbols = Object.getOwnPropertySymbols(socket)
  const [buffer, callback] = ['kBuffer', 'kBufferCb'].map((name) => symbols.find((it) => it.description === name))
  if (!buffer || !callback || !node._handle?.useUserBuffer) return
  node[buffer] = shared
  node[callback] = (length: number) => take(view(length))
  node._handle.useUserBuffer(shared)
}
