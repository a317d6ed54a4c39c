// The services of the gRPC port that need no key: health, reflection if it is on, and the reports that gateways pass on. The
// libraries of the first two, and protobufjs with them, are loaded by the first call: few servers are asked.
import type { DescService } from '@bufbuild/protobuf'
import type { MethodDefinition, Server, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js'
import type { SubmissionNews } from '@mediagen/core/submission-url.ts'
import type { GrpcRoute } from '@mediagen/net/grpc/guarded-call.ts'
import { createHealth } from './health.ts'
import { createReflection } from './reflection.ts'
import { addSubmissions } from './submissions.ts'

/** Options of these services. */
export interface OpenOptions {
  readonly reflection: boolean
  /** Length of the largest request. */
  readonly maxBytes: number
  /** What gateways pass on; neither health nor reflection names it. */
  readonly submissions: SubmissionNews
}

/** The routes of these services, and the switch of the health. */
export interface OpenServices {
  readonly routes: ReadonlyMap<string, GrpcRoute>
  /** Reports NOT_SERVING from now on; those who watch the health learn it at once. */
  drain(): void
}

type Adder = Pick<Server, 'addService'>

/** Adds health and reflection to a server. */
export function addOpenServices(
  server: Server,
  services: readonly DescService[],
  { reflection, maxBytes, submissions }: OpenOptions,
): OpenServices {
  const routes = new Map<string, GrpcRoute>()
  /** Records the routes of what is added. */
  const recorder: Adder = {
    addService(definition: ServiceDefinition, impl: UntypedServiceImplementation) {
      for (const { path, requestStream } of Object.values(definition)) {
        const [service = '', method = ''] = path.slice(path.lastIndexOf('.') + 1).split('/')
        routes.set(path, { rpc: `${service}.${method}`, maxBytes, takesMany: requestStream, serve: null })
      }
      server.addService(definition, impl)
    },
  }
  const health = createHealth(['', ...services.map(({ typeName }) => typeName)])
  addLater(recorder, healthMethods, (adder) => health.addToServer(adder))
  addSubmissions(recorder, submissions)
  if (reflection) addLater(recorder, reflectionMethods, (adder) => createReflection(services).addToServer(adder))
  return { routes, drain: () => health.drain() }
}

/** A method: its path, and what streams. */
type Method = readonly [path: string, requestStream: boolean, responseStream: boolean]

const healthMethods: readonly Method[] = [
  ['/grpc.health.v1.Health/Check', false, false],
  ['/grpc.health.v1.Health/List', false, false],
  ['/grpc.health.v1.Health/Watch', false, true],
]
const reflectionMethods: readonly Method[] = [
  ['/grpc.reflection.v1.ServerReflection/ServerReflectionInfo', true, true],
  ['/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo', true, true],
]

/** A method of a library. */
interface Loaded {
  readonly definition: MethodDefinition<unknown, unknown>
  readonly handle: (...call: readonly unknown[]) => void
}

/** Adds methods of a library that is loaded when the first message of a call arrives: `load` makes it add the same methods. */
function addLater(server: Adder, methods: readonly Method[], load: (adder: Adder) => void): void {
  const loaded = new Map<string, Loaded>()
  const collector: Adder = {
    addService(definition: ServiceDefinition, impl: UntypedServiceImplementation) {
      for (const [name, method] of Object.entries(definition)) {
        const handle = impl[name] ?? impl[method.originalName ?? '']
        loaded.set(method.path, { definition: method, handle: handle as Loaded['handle'] })
      }
    },
  }
  function find(path: string): Loaded {
    if (loaded.size === 0) load(collector)
    return loaded.get(path) as Loaded
  }
  const toDefinition = ([path, requestStream, responseStream]: Method): MethodDefinition<unknown, unknown> => ({
    path,
    requestStream,
    responseStream,
    requestSerialize: (request) => find(path).definition.requestSerialize(request),
    requestDeserialize: (bytes) => find(path).definition.requestDeserialize(bytes),
    responseSerialize: (response) => find(path).definition.responseSerialize(response),
    responseDeserialize: (bytes) => find(path).definition.responseDeserialize(bytes),
  })
  server.addService(
    Object.fromEntries(methods.map((method) => [method[0], toDefinition(method)])),
    Object.fromEntries(
      methods.map(([path]) => [path, (...call: readonly unknown[]): void => find(path).handle(...call)]),
    ),
  )
}
