// The standard health of the gRPC port: each service is served until the server stops. Its library is loaded by its first call.
import { createRequire } from 'node:module'
import type { handleServerStreamingCall, Server, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js'
import type * as HealthCheck from 'grpc-health-check'

const require = createRequire(import.meta.url)

/** The health of a server. */
export interface Health {
  addToServer(server: Pick<Server, 'addService'>): void
  /** Reports NOT_SERVING from now on; those who watch the health learn it at once. */
  drain(): void
}

/** Creates the health of the services that have these names. */
export function createHealth(names: readonly string[]): Health {
  let loaded: HealthCheck.HealthImplementation | null = null
  let status: 'SERVING' | 'NOT_SERVING' = 'SERVING'
  return {
    addToServer(server) {
      const { HealthImplementation } = require('grpc-health-check') as typeof HealthCheck
      loaded = new HealthImplementation(Object.fromEntries(names.map((name) => [name, status])))
      const known = new Set(names)
      const adder = {
        addService: (definition: ServiceDefinition, impl: UntypedServiceImplementation) =>
          server.addService(definition, { ...impl, watch: forgetNames(impl['watch'] as Watch, known) }),
      }
      loaded.addToServer(adder as Partial<Server> as Server)
    },
    drain() {
      status = 'NOT_SERVING'
      for (const name of names) loaded?.setStatus(name, status)
    },
  }
}

type Watch = handleServerStreamingCall<{ service: string }, object>

/** The library keeps every watched name for ever, so all names that are not served become one, whose status is SERVICE_UNKNOWN. */
function forgetNames(watch: Watch, names: ReadonlySet<string>): Watch {
  return (call) => {
    if (!names.has(call.request.service)) call.request.service = 'unknown'
    watch(call)
  }
}
