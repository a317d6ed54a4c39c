// The services of the gRPC port that need no key: health, reflection if it is on, and the reports that gateways pass on.
import { type DescFile, type DescService, fromBinary, toBinary } from '@bufbuild/protobuf'
import { type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import type {
  handleServerStreamingCall,
  Server,
  ServerDuplexStream,
  ServiceDefinition,
  UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader'
import { ReflectionService } from '@grpc/reflection'
import { HealthImplementation, protoPath } from 'grpc-health-check'
import { file_mediagen_v1_errors } from '../../gen/mediagen/v1/errors_pb.ts'
import type { SubmissionNews } from '@mediagen/core/submission-url.ts'
import { addSubmissions } from './submissions.ts'
import type { GrpcRoute } from '@mediagen/net/grpc/guarded-call.ts'

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

/** Adds health and reflection to a server. */
export function addOpenServices(
  server: Server,
  services: readonly DescService[],
  { reflection, maxBytes, submissions }: OpenOptions,
): OpenServices {
  const routes = new Map<string, GrpcRoute>()
  /** Records the routes of what is added. */
  const toServer = (change: Change): Server =>
    ({
      addService(definition: ServiceDefinition, impl: UntypedServiceImplementation) {
        for (const { path, requestStream } of Object.values(definition)) {
          const [service = '', method = ''] = path.slice(path.lastIndexOf('.') + 1).split('/')
          routes.set(path, { rpc: `${service}.${method}`, maxBytes, takesMany: requestStream, serve: null })
        }
        server.addService(definition, change(impl, definition))
      },
    }) as Partial<Server> as Server
  const names = ['', ...services.map(({ typeName }) => typeName)]
  const health = new HealthImplementation(Object.fromEntries(names.map((name) => [name, 'SERVING' as const])))
  health.addToServer(toServer((impl) => ({ ...impl, watch: forgetNames(impl['watch'] as Watch, new Set(names)) })))
  addSubmissions(
    toServer((impl) => impl),
    submissions,
  )
  if (reflection) addReflection(services, toServer)
  return {
    routes,
    drain() {
      for (const name of names) health.setStatus(name, 'NOT_SERVING')
    },
  }
}

type Change = (impl: UntypedServiceImplementation, definition: ServiceDefinition) => UntypedServiceImplementation

/** Adds the reflection. Its index, which takes longer to build than the rest of the port, is built by the first call. */
function addReflection(services: readonly DescService[], toServer: (change: Change) => Server): void {
  const handlers = new Map<string, HandleAny>()
  const built = {
    addService(definition: ServiceDefinition, impl: UntypedServiceImplementation) {
      for (const [name, { path }] of Object.entries(definition)) handlers.set(path, impl[name] as HandleAny)
    },
  } as Partial<Server> as Server
  function find(path: string): HandleAny {
    if (handlers.size === 0) createReflection(services).addToServer(built)
    return handlers.get(path) as HandleAny
  }
  const buildLater: Change = (_impl, definition) =>
    Object.fromEntries(
      Object.entries(definition).map(([name, { path }]) => [name, (call: AnyCall): void => find(path)(call)]),
    )
  new ReflectionService({}).addToServer(toServer(buildLater))
}

type AnyCall = ServerDuplexStream<object, object>
type HandleAny = (call: AnyCall) => void

type Watch = handleServerStreamingCall<{ service: string }, object>

/** The library keeps every watched name for ever, so all names that are not served become one, whose status is SERVICE_UNKNOWN. */
function forgetNames(watch: Watch, names: ReadonlySet<string>): Watch {
  return (call) => {
    if (!names.has(call.request.service)) call.request.service = 'unknown'
    watch(call)
  }
}

function createReflection(services: readonly DescService[]): ReflectionService {
  const files = new Map<string, DescFile>()
  const collect = (file: DescFile): void => {
    if (files.has(file.name)) return
    for (const dependency of file.dependencies) collect(dependency)
    files.set(file.name, file)
  }
  for (const service of services) collect(service.file)
  // No service refers to this file: error details are packed into Any, and a client asks for their type by name.
  collect(file_mediagen_v1_errors)
  const fileDescriptorProtos = [...[...files.values()].map(({ proto }) => proto), readHealthFile()].map((proto) =>
    Buffer.from(toBinary(FileDescriptorProtoSchema, proto)),
  )
  // Reflection reads only the descriptors; `format` and `type` are ignored.
  return new ReflectionService({
    files: { format: 'Protocol Buffer 3 EnumDescriptorProto', type: {}, fileDescriptorProtos },
  })
}

const health = '.grpc.health.v1'
const fullNames: Readonly<Record<string, string>> = {
  Statuses: `${health}.HealthListResponse.StatusesEntry`,
  HealthCheckResponse: `${health}.HealthCheckResponse`,
  ServingStatus: `${health}.HealthCheckResponse.ServingStatus`,
}

/**
 * The file of grpc.health.v1, with full type names. protobufjs, which parses it, leaves type names relative and names map
 * entries differently; strict clients such as buf and grpcurl would reject the whole file.
 */
function readHealthFile(): FileDescriptorProto {
  const { fileDescriptorProtos } = loadSync(protoPath)['grpc.health.v1.HealthCheckRequest'] as MessageTypeDefinition<
    object,
    object
  >
  const file = fromBinary(FileDescriptorProtoSchema, fileDescriptorProtos[0] ?? new Uint8Array())
  for (const message of file.messageType.flatMap((message) => [message, ...message.nestedType])) {
    if (message.options?.mapEntry) message.name += 'Entry'
    for (const field of message.field) field.typeName = fullNames[field.typeName] ?? field.typeName
  }
  return file
}
