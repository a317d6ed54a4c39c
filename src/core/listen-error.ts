// Why a port cannot be opened, and which setting fixes it.
import { StartupError } from './errors.ts'

const settings = {
  HTTP: ['MEDIAGEN_HOST', 'MEDIAGEN_HTTP_PORT'],
  gRPC: ['MEDIAGEN_HOST', 'MEDIAGEN_GRPC_PORT'],
  'admin HTTP': ['MEDIAGEN_ADMIN_HOST', 'MEDIAGEN_ADMIN_PORT'],
  'admin gRPC': ['MEDIAGEN_ADMIN_HOST', 'MEDIAGEN_ADMIN_GRPC_PORT'],
} as const

/** A listening port. */
export type Door = keyof typeof settings

const noSuchAddress = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'ENOTFOUND', 'EAI_AGAIN'])
const reasons: Readonly<Record<string, string>> = { EADDRINUSE: 'it is in use', EACCES: 'this user may not open it' }

/** The error of a server that cannot listen. */
export function toListenError(door: Door, host: string, port: number, cause: NodeJS.ErrnoException): StartupError {
  const { code = '', message } = cause
  const [hostSetting, portSetting] = settings[door]
  const sentence = noSuchAddress.has(code)
    ? `The ${door} port ${port} cannot be opened: this machine has no address ${host}. Set ${hostSetting} to one of its addresses.`
    : `The ${door} port ${port} on ${host} cannot be opened: ${reasons[code] ?? message}. Set ${portSetting} to another.`
  return new StartupError(sentence, { cause })
}
