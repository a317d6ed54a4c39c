// Why a port cannot be listened on, and which setting mends it.
import { StartupError } from './errors.ts'

/** Both Node and grpc-js are understood; grpc-js tells the code only in its message. */
export function toListenError(door: 'HTTP' | 'gRPC', host: string, port: number, cause: Error): StartupError {
  const { code = '', message } = cause as NodeJS.ErrnoException
  const words = `${code} ${message}`
  if (/EADDRNOTAVAIL|EAFNOSUPPORT|ENOTFOUND|EAI_AGAIN|Name resolution failed/.test(words))
    return new StartupError(
      `The ${door} port ${port} cannot be listened on: this machine has no address ${host}. Set MEDIAGEN_HOST to one that it has.`,
      { cause },
    )
  const reason = /EADDRINUSE/.test(words) ? 'it is in use' : /EACCES/.test(words) ? 'this user may not' : message
  return new StartupError(
    `The ${door} port ${port} on ${host} cannot be listened on: ${reason}. Set MEDIAGEN_${door.toUpperCase()}_PORT to another.`,
    { cause },
  )
}
