// How the server lets go of its connections when it stops: requests under way are answered, nothing else keeps it.
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'

// What was asked in full is answered long before; what is still being sent after this is cut off.
const closeGraceMs = 5000
// Node closes the connections that are idle when it begins to close; those that become idle later wait for this.
const sweepMs = 20

/**
 * Makes `app.close()` end. By itself it waits for every connection that is not idle, and Node counts those on which
 * nothing was asked yet, as browsers and pools open them ahead, among the busy.
 * Returns a signal that aborts when the server begins to stop: who waits then is answered, who watches is sent away.
 */
export function boundClose(app: FastifyInstance): AbortSignal {
  const stopping = new AbortController()
  const silent = new Set<Socket>()
  app.server.on('connection', (socket) => {
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
  })
  app.server.on('request', ({ socket }) => silent.delete(socket))
  let cut: NodeJS.Timeout | undefined
  let sweep: NodeJS.Timeout | undefined
  app.addHook('preClose', (done) => {
    stopping.abort()
    for (const socket of silent) socket.destroy()
    sweep = setInterval(() => app.server.closeIdleConnections(), sweepMs)
    cut = setTimeout(() => app.server.closeAllConnections(), closeGraceMs)
    done()
  })
  app.addHook('onClose', (_app, done) => {
    clearInterval(sweep)
    clearTimeout(cut)
    done()
  })
  return stopping.signal
}

/** Aborts when the client hangs up or the server stops: that ends the wait, not the job. */
export function patienceOf(reply: FastifyReply, stopping: AbortSignal): AbortSignal {
  const over = new AbortController()
  const end = (): void => over.abort()
  stopping.addEventListener('abort', end)
  reply.raw.once('close', () => {
    stopping.removeEventListener('abort', end)
    end()
  })
  if (stopping.aborted) end()
  return over.signal
}
