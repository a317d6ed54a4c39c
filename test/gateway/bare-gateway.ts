// A gateway without a core: the test itself is the transport behind it.
import type { Transport } from '@connectrpc/connect'
import { pino } from 'pino'
import { overloaded } from '../../src/app/doors/overload.ts'
import { noTraces } from '../../src/core/traces.ts'
import type { Overload } from '../../src/gateway/overload.ts'
import { createGateway, listen, type RouteDeps } from '../../src/gateway/server.ts'
import { noSignIns } from '../../src/sign-in/sign-ins.ts'
import { roomy } from './bounds.ts'

const idle: Overload = {
  refuses: () => false,
  noteExempt() {},
  refusal: overloaded(1000),
  connectBody: () => '',
}

/** Starts a gateway that admits every caller. */
export async function startBareGateway(
  transport: Transport,
  {
    windowMs = roomy.windowMs,
    overload = idle,
    addDoors = () => {},
  }: { windowMs?: number; overload?: Overload; addDoors?: RouteDeps['addDoors'] } = {},
) {
  const gateway = createGateway({
    transport,
    health: { unready: async () => null, metrics: async () => ({ contentType: 'text/plain', body: '' }) },
    publicUrl: () => '',
    labelHeaders: [],
    maxUploadBytes: 1024,
    maxBodyBytes: 1024,
    connections: { ...roomy, windowMs },
    downloads: { inAll: 1, perOwner: 1 },
    countCut() {},
    log: pino({ level: 'silent' }),
    traces: noTraces,
    keys: {
      authenticate: async () => ({
        keyId: 'key_x',
        accountId: 'acct_x',
        permissions: ['jobs:read', 'generate', 'wallet:read'],
      }),
      async limit() {},
      async spend() {},
    },
    maxValues: 100,
    logUnauthenticated() {},
    maxViolations: 100,
    countRefusal() {},
    findClient: (peer) => peer,
    signIns: noSignIns,
    origins: new Set(),
    overload,
    addDoors,
    createMcp: () => async (_request, reply) => reply.send(),
    extend() {},
  })
  const port = await listen(gateway, '127.0.0.1', 0)
  return { port, [Symbol.asyncDispose]: () => gateway.close() }
}
