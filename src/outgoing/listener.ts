// Listens to a WebSocket of another server, over an agent that checks addresses. What it says is bounded in size, number and
// time, and it may end at any moment: nothing may depend on it.
import type { Socket } from 'node:net'
import type { Agent, WebSocket } from 'undici'

/** Size of the largest message; a longer one ends the connection before it is read. */
export const maxMessageBytes = 1024 * 1024
// All bytes of one connection, control frames included, and of its messages as they are unpacked. A caller that needs more opens
// another.
const maxBytes = 32 * maxMessageBytes
const maxMessages = 20_000
// We write one short message, and an answer to each ping.
const maxWrittenBytes = 64 * 1024

/** What to listen to. */
export interface ListenRequest {
  readonly headers: Readonly<Record<string, string>>
  /** Sent when the connection is open. */
  readonly hello: string
  /** Called for each message until the listener is closed. What it throws ends the connection. */
  readonly onMessage: (message: string | Buffer) => void
}

/** An open connection, or one that is being opened. */
export interface Listener {
  /** Whether it has ended, for whatever reason. */
  readonly isClosed: boolean
  /** Ends it at once, whatever the other end does. */
  close(): void
}

/** Opens what a connection is made of; `onWire` gets the socket below it, which outlives the agent. */
type OpenParts = (onWire: (wire: Socket) => void) => Promise<{
  readonly agent: Agent
  readonly WebSocket: new (...args: ConstructorParameters<typeof WebSocket>) => WebSocket
}>

/** Starts to listen. Never throws. */
export function listen(url: URL, { headers, hello, onMessage }: ListenRequest, openParts: OpenParts): Listener {
  let isClosed = false
  let wire: Socket | null = null
  let end = (): void => {}

  function close(): void {
    if (isClosed) return
    isClosed = true
    end()
  }

  async function open(): Promise<void> {
    const { agent, WebSocket } = await openParts((opened) => (wire = opened))
    end = () => void agent.destroy()
    if (isClosed) return end()
    const socket = new WebSocket(url, { dispatcher: agent, headers: { ...headers } })
    end = () => {
      socket.close()
      // A server that does not answer the closing handshake would keep the connection.
      wire?.destroySoon()
      void agent.destroy()
    }
    socket.binaryType = 'arraybuffer'
    socket.addEventListener('open', () => {
      let bytes = 0
      wire?.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > maxBytes || (wire?.bytesWritten ?? 0) > maxWrittenBytes) close()
      })
      socket.send(hello)
    })
    let messages = 0
    let unpacked = 0
    socket.addEventListener('message', ({ data }) => {
      if (isClosed) return
      unpacked += typeof data === 'string' ? data.length : (data as ArrayBuffer).byteLength
      if (unpacked > maxBytes) return close()
      try {
        onMessage(typeof data === 'string' ? data : Buffer.from(data as ArrayBuffer))
      } catch {
        return close()
      }
      if ((messages += 1) >= maxMessages) close()
    })
    socket.addEventListener('close', close)
  }

  open().catch(close)
  return {
    get isClosed() {
      return isClosed
    },
    close,
  }
}
