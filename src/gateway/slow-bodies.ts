// Bodies that do not come, or never end: how long the server puts up with them.
import type { FastifyInstance } from 'fastify'
import { leastProgressBytes, tooSlow } from '../runtime/progress.ts'

/** In milliseconds and bytes. */
export interface BodyBounds {
  /** In so long a time … */
  readonly windowMs: number
  /** … so many bytes of a body come, or its end. Default: `leastProgressBytes`. */
  readonly leastBytes?: number
  /** What nobody reads any more, since the request is answered, is listened to for so long. Default: 5 s. */
  readonly answeredMs?: number
}

const usualAnsweredMs = 5000

/** Cuts off requests whose body comes too slowly, and those that go on for long after they were answered. */
export function boundBodies(app: FastifyInstance, bounds: BodyBounds): void {
  const { windowMs, leastBytes = leastProgressBytes, answeredMs = usualAnsweredMs } = bounds
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const { socket, headers } = raw
    if (headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0') return done()
    let seen = socket.bytesRead
    let timer = setTimeout(look, windowMs)

    function look(): void {
      // All of it is here, though nobody reads it, as with a GET that has a body.
      if (raw.complete) return
      if (socket.bytesRead - seen < leastBytes) return cut()
      seen = socket.bytesRead
      timer = setTimeout(look, windowMs)
    }
    function cut(): void {
      // Whoever was answered already is just cut off.
      if (reply.raw.headersSent) socket.destroy()
      else app.server.emit('clientError', tooSlow(windowMs), socket)
    }
    function rest(): void {
      clearTimeout(timer)
      raw.off('end', rest).off('close', rest)
      reply.raw.off('finish', answered)
    }
    function answered(): void {
      clearTimeout(timer)
      timer = setTimeout(() => socket.destroy(), answeredMs)
    }
    raw.once('end', rest).once('close', rest)
    reply.raw.once('finish', answered)
    done()
  })
}
