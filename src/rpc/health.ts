// grpc.health.v1: whether this server takes calls. https://github.com/grpc/grpc/blob/master/doc/health-checking.md
import type { ServiceImpl } from '@connectrpc/connect'
import { HealthCheckResponse_ServingStatus as Status, type Health } from '../../gen/grpc/health/v1/health_pb.ts'
import { MediagenError } from '../core/errors.ts'

/** The service, and what turns it. */
export interface HealthService {
  readonly impl: ServiceImpl<typeof Health>
  /** Tells from now on that nothing is served, to those who watch at once. */
  drain(): void
}

/**
 * Creates the service.
 * @param services names of what is served; the empty name is the server as a whole
 */
export function createHealthService(services: readonly string[]): HealthService {
  const known = new Set(['', ...services])
  const draining = new AbortController()

  const findStatus = (service: string): Status => {
    if (!known.has(service)) return Status.SERVICE_UNKNOWN
    return draining.signal.aborted ? Status.NOT_SERVING : Status.SERVING
  }

  return {
    impl: {
      check({ service }) {
        const status = findStatus(service)
        if (status === Status.SERVICE_UNKNOWN)
          throw new MediagenError('route_not_found', 'The service is not served here.')
        return { status }
      },
      async *watch({ service }, { signal }) {
        const told = findStatus(service)
        yield { status: told }
        if (!draining.signal.aborted) await aborted(AbortSignal.any([signal, draining.signal]))
        if (signal.aborted) return
        if (findStatus(service) !== told) yield { status: findStatus(service) }
        await aborted(signal)
      },
      list: () => ({ statuses: Object.fromEntries([...known].map((name) => [name, { status: findStatus(name) }])) }),
    },
    drain: () => draining.abort(),
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
