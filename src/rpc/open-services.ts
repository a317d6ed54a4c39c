// The services of the gRPC port that need no key: health, reflection if it is on, and what gateways pass on: reports, and people who sign in.
import type { DescService } from '@bufbuild/protobuf'
import type { Server, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js'
import type { SignIns } from '../core/accounts/sign-in.ts'
import { MediagenError } from '../core/errors.ts'
import type { SubmissionNotifications } from '../core/jobs/submission-url.ts'
import type { FindClient } from '../guards/client-address.ts'
import type { GrpcRoute } from './grpc/guarded-call.ts'
import type { FindRoute } from './grpc/guarded-server.ts'
import { createHealth } from './grpc/health.ts'
import { createReflection } from './grpc/reflection.ts'
import { addSignIns } from './sign-ins.ts'
import { addSubmissions } from './submissions.ts'

/** Options of these services. */
export interface OpenOptions {
  readonly reflection: boolean
  /** Length of the largest request. */
  readonly maxBytes: number
  /** What gateways pass on; neither health nor reflection names it. */
  readonly submissions: SubmissionNotifications
  /** The same for people who sign in. */
  readonly signIns: SignIns
  readonly findClient: FindClient
}

/** The routes of these services, and the switch of the health. */
export interface OpenServices {
  readonly findRoute: FindRoute
  /** Reports NOT_SERVING from now on; those who watch the health learn it at once. */
  drain(): void
}

const ofLibraries = /^\/grpc\.(?:health|reflection)\./

/** Adds these services to a server. Health and reflection are added by the first call: their libraries take a tenth of a second. */
export function addOpenServices(
  server: Server,
  services: readonly DescService[],
  { reflection, maxBytes, submissions, signIns, findClient }: OpenOptions,
): OpenServices {
  const routes = new Map<string, GrpcRoute>()
  /** Adds services whose requests guarded calls decode. */
  const adder: Pick<Server, 'addService'> = {
    addService(definition: ServiceDefinition, impl: UntypedServiceImplementation) {
      for (const method of Object.values(definition)) routes.set(method.path, toRoute(method, maxBytes))
      const undecoded = Object.entries(definition).map(([name, method]) => [
        name,
        { ...method, requestDeserialize: (bytes: Buffer) => bytes },
      ])
      server.addService(Object.fromEntries(undecoded), impl)
    },
  }
  const health = createHealth(['', ...services.map(({ typeName }) => typeName)])
  addSubmissions(adder, submissions, findClient)
  addSignIns(adder, signIns, findClient)
  let isLoaded = false

  function load(): void {
    isLoaded = true
    health.addToServer(adder)
    if (reflection) createReflection(services).addToServer(adder)
  }

  return {
    findRoute(path) {
      if (!isLoaded && ofLibraries.test(path)) load()
      return routes.get(path)
    },
    drain: () => health.drain(),
  }
}

function toRoute({ path, requestStream, requestDeserialize }: ServiceDefinition[string], maxBytes: number): GrpcRoute {
  const [service = '', method = ''] = path.slice(path.lastIndexOf('.') + 1).split('/')
  return {
    rpc: `${service}.${method}`,
    maxBytes,
    takesMany: requestStream,
    answer: { by: 'handler', decode: (bytes) => decode(requestDeserialize, bytes) },
  }
}

function decode(deserialize: (bytes: Buffer) => unknown, bytes: Buffer): unknown {
  try {
    return deserialize(bytes)
  } catch (error) {
    throw new MediagenError('invalid_request', 'The request cannot be decoded.', {}, { cause: error })
  }
}
