// Why a port cannot be opened, and which setting fixes it.
import { StartupError } from '../core/errors.ts'

const settings = {
  HTTP: ['MEDIAGEN_HOST', 'MEDIAGEN_HTTP_PORT'],
  gRPC: ['MEDIAGEN_HOST', 'MEDIAGEN_GRPC_PORT'],
  'admin HTTP': ['MEDIAGEN_ADMIN_HOST', 'MEDIAGEN_ADMIN_PORT'],
  'admin gRPC': ['MEDIAGEN_ADMIN_HOST', 'MEDIAGEN_ADMIN_GRPC_PORT'],
} as const

/** A listening port. */
export type Door = keyof typeof settings

/** Reads errors of Node and of grpc-js, which has the code only in its message. */
export function toListenError(door: Door, host: string, port: number, cause: Error): StartupError {
  const { code = '', message } = cause as NodeJS.ErrnoException
  const [hostSetting, portSetting] = settings[door]
  const words = `${code} ${message}`
  if (/EADDRNOTAVAIL|EAFNOSUPPORT|ENOTFOUND|EAI_AGAIN|Name resolution failed/.test(words))
    return new StartupError(
      `The ${door} port ${port} cannot be opened: this machine has no address ${host}. Set ${hostSetting} to one of its addresses.`,
      { cause },
    )
  const reason = /EADDRINUSE/.test(words) ? 'it is in use' : /EACCES/.test(words) ? 'this user may not' : message
  return new StartupError(
    `The ${door} port ${port} on ${host} cannot be opened: ${reason}. Set ${portSetting} to another.`,
    { cause },
  )
}
