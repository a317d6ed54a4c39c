// Tries the ports of a server before anything is made for it, so that a start that they refuse leaves no data directory behind.
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from '../../config.ts'
import { type Door, toListenError } from '../../core/listen-error.ts'

/** @throws StartupError when a port cannot be had */
export async function tryPorts({ roles, host, adminHost, ...ports }: Config): Promise<void> {
  const { httpPort, grpcPort, adminPort, adminGrpcPort } = ports
  await tryPort('HTTP', host, httpPort)
  await tryPort('admin HTTP', adminHost, adminPort)
  if (!roles.has('api')) return
  await tryPort('gRPC', host, grpcPort)
  await tryPort('admin gRPC', adminHost, adminGrpcPort)
}

async function tryPort(door: Door, host: string, port: number | null): Promise<void> {
  // 0 stands for any port that is free.
  if (port === null || port === 0) return
  const server = createServer().listen(port, host)
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw toListenError(door, host, port, error)
  })
  server.close()
  await once(server, 'close')
}
