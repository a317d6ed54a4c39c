// Bodies that do not come, or never end: how long the server puts up with them.
import type { FastifyInstance } from 'fastify'

/** In milliseconds and bytes. */
export interface BodyBounds {
  /** In so long a time … */
  readonly windowMs: number
  /** … so many bytes of a body come, or its end. */
  readonly leastBytes: number
  /** What nobody reads any more, since the request is answered, is listened to for so long. */
  readonly answeredMs: number
}

const usual: BodyBounds = { windowMs: 60_000, leastBytes: 65_536, answeredMs: 5000 }

/** Cuts off requests whose body comes too slowly, and those that go on for long after they were answered. */
export function boundBodies(app: FastifyInstance, { windowMs, leastBytes, answeredMs }: BodyBounds = usual): void {
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
      const late = Object.assign(new Error('a body came too slowly'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
      // As Node itself would; whoever was answered already is just cut off.
      if (reply.raw.headersSent) socket.destroy()
      else app.server.emit('clientError', late, socket)
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
