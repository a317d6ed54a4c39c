// Why a port cannot be listened on: the setting that mends it is named.
import { expect, test } from 'vitest'
import { toListenError } from '../../src/core/listen-error.ts'

test.for([
  ['HTTP', 'EADDRNOTAVAIL', 'listen EADDRNOTAVAIL: address not available 10.9.9.9', 'MEDIAGEN_HOST'],
  ['HTTP', 'ENOTFOUND', 'getaddrinfo ENOTFOUND 10.9.9.9', 'MEDIAGEN_HOST'],
  ['HTTP', 'EADDRINUSE', 'listen EADDRINUSE', 'MEDIAGEN_HTTP_PORT'],
  ['gRPC', 'EADDRNOTAVAIL', 'listen EADDRNOTAVAIL: address not available 10.9.9.9', 'MEDIAGEN_HOST'],
  ['gRPC', 'EAI_AGAIN', 'getaddrinfo EAI_AGAIN 10.9.9.9', 'MEDIAGEN_HOST'],
  ['gRPC', 'EADDRINUSE', 'listen EADDRINUSE', 'MEDIAGEN_GRPC_PORT'],
  ['admin HTTP', 'EADDRINUSE', 'listen EADDRINUSE', 'MEDIAGEN_ADMIN_PORT'],
  ['admin gRPC', 'EADDRINUSE', 'listen EADDRINUSE', 'MEDIAGEN_ADMIN_GRPC_PORT'],
  ['admin gRPC', 'EADDRNOTAVAIL', 'listen EADDRNOTAVAIL', 'MEDIAGEN_ADMIN_HOST'],
] as const)('%s, %s %s: set %s', ([door, code, message, setting]) => {
  const { message: sentence } = toListenError(door, '10.9.9.9', 8080, Object.assign(new Error(message), { code }))
  expect(sentence).toContain('8080')
  expect(sentence).toContain('10.9.9.9')
  expect(sentence.match(/MEDIAGEN_\w+/g)).toEqual([setting])
})
