// A proxy in front of PostgreSQL that cuts connections when it is told to: before or after a command has reached the server.
import { connect, createServer, type Socket } from 'node:net'
import { once } from 'node:events'

/** The proxy. */
export interface CuttingProxy extends AsyncDisposable {
  /** The URL of a database through it. */
  through(database: string): string
  /**
   * Cuts the connection that next sends `statement`: as soon as it is seen, or when the server has answered it, without the answer.
   * @returns how often that happened so far
   */
  cut(statement: string, when: 'before' | 'after', times?: number): () => number
  /** Whether anything passes; without, connections are refused. */
  open: boolean
}

/** Starts a proxy. @param server the URL of a server that listens on a Unix socket */
export async function startCuttingProxy(server: string): Promise<CuttingProxy> {
  const folder = decodeURIComponent(/host=([^&]+)/.exec(server)?.[1] ?? '')
  const sockets = new Set<Socket>()
  let cutting: { statement: string; when: 'before' | 'after'; left: number } | null = null
  let cuts = 0
  let open = true

  function serve(client: Socket): void {
    if (!open) return void client.destroy()
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
        end()
      })
    }
    client.on('data', (bytes) => {
      if (cutting && cutting.left > 0 && bytes.includes(cutting.statement)) {
        cutting.left -= 1
        cuts += 1
        if (cutting.when === 'before') return end()
        mute = true
      }
      upstream.write(bytes)
    })
    // The answer shows that the server has done it.
    upstream.on('data', (bytes) => (mute ? end() : client.write(bytes)))
  }

  const proxy = createServer(serve).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const { port } = proxy.address() as { port: number }
  return {
    through: (database) => database.replace(/@\/(\w+)\?.*$/, `@127.0.0.1:${port}/$1`),
    cut(statement, when, times = 1) {
      cuts = 0
      cutting = { statement, when, left: times }
      return () => cuts
    },
    get open() {
      return open
    },
    set open(passes) {
      open = passes
      if (!passes) for (const socket of sockets) socket.destroy()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}
