// A proxy in front of PostgreSQL that cuts connections on request, loses what is sent, or leads to another server.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** The proxy. */
export interface CuttingProxy extends AsyncDisposable {
  /** The URL of a database through it. */
  through(database: string): string
  /**
   * Cuts the connection that next sends `statement`: as soon as it is seen, or when the server has answered it, without the answer.
   * @returns how often that happened so far
   */
  cut(statement: string, when: 'before' | 'after', times?: number): () => number
  /** Keeps what is sent from `statement` to COMMIT, and cuts the connection; the result lets the server have it. */
  delay(statement: string): () => void
  /**
   * What becomes of connections: they pass; they are cut, and new ones refused; or they stay and nothing passes any more, not even
   * when later ones do.
   */
  set(mode: 'passes' | 'refuses' | 'silent'): Promise<void>
  /** Leads new connections to another server; those to the old one stay. */
  leadTo(server: string): void
}

/** Starts a proxy. @param server the URL of a server that listens on a Unix socket */
export async function startCuttingProxy(server: string): Promise<CuttingProxy> {
  let folder = readFolder(server)
  const sockets = new Set<Socket>()
  /** Connections through which nothing passes. */
  const lost = new WeakSet<Socket>()
  let cutting: { statement: string; when: 'before' | 'after'; left: number } | null = null
  let cuts = 0
  let delayed: string | null = null
  let deliver = (): void => {}
  const kept: Buffer[] = []
  let silent = false

  function serve(client: Socket): void {
    if (silent) lost.add(client)
    const upstream = connect(`${folder}/.s.PGSQL.5432`)
    let mute = false
    const end = (): void => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', end).on('close', () => {
        sockets.delete(socket)
        // Nobody tells the server of a client that it does not hear any more.
        if (!lost.has(client)) end()
      })
    }
    client.on('data', (bytes) => {
      if (lost.has(client)) return
      if (delayed !== null && (kept.length > 0 || bytes.includes(delayed))) {
        kept.push(bytes)
        if (!bytes.includes('COMMIT')) return
        const late = Buffer.concat(kept.splice(0))
        deliver = () => void upstream.write(late)
        delayed = null
        lost.add(client)
        return void client.destroy()
      }
      if (cutting && cutting.left > 0 && bytes.includes(cutting.statement)) {
        cutting.left -= 1
        cuts += 1
        if (cutting.when === 'before') return end()
        mute = true
      }
      upstream.write(bytes)
    })
    // The answer shows that the server has done it.
    upstream.on('data', (bytes) => (mute ? end() : lost.has(client) || client.write(bytes)))
  }

  const proxy = createServer(serve)
  const listen = async (port: number): Promise<void> => void (await once(proxy.listen(port, '127.0.0.1'), 'listening'))
  await listen(0)
  const { port } = proxy.address() as { port: number }
  async function close(): Promise<void> {
    const closed = once(proxy, 'close')
    proxy.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }

  return {
    through: (database) => database.replace(/@\/(\w+)\?.*$/, `@127.0.0.1:${port}/$1`),
    cut(statement, when, times = 1) {
      cuts = 0
      cutting = { statement, when, left: times }
      return () => cuts
    },
    delay(statement) {
      delayed = statement
      return () => deliver()
    },
    async set(mode) {
      silent = mode === 'silent'
      if (silent) for (const socket of sockets) lost.add(socket)
      if (mode === 'refuses') await close()
      else if (!proxy.listening) await listen(port)
    },
    leadTo(other) {
      folder = readFolder(other)
    },
    async [Symbol.asyncDispose]() {
      if (proxy.listening) await close()
    },
  }
}

/** The folder with the socket of a server. */
function readFolder(server: string): string {
  return decodeURIComponent(/host=([^&]+)/.exec(server)?.[1] ?? '')
}
