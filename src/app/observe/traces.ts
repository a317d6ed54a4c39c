// Traces of a server, as the settings say: none without a collector. The SDK of OpenTelemetry is loaded only if there is one; it is
// optional, as the packages of the AI SDK are.
import type { Config } from '../../config.ts'
import { noTraces, type Traces } from '../../core/traces.ts'

/** The traces of a process. */
export interface OpenTraces extends Traces {
  /** The current span, for a line of the log; nothing without one. */
  ids(): object
  /** Sends what is left, for about a second at most; false if that was too short. */
  close(): Promise<boolean>
}

/** Takes why traces are lost; null when they are not any more. */
export type TraceTrouble = (reason: string | null) => void

/** Of a process without a collector. */
export const closedTraces: OpenTraces = { ...noTraces, ids: () => ({}), close: async () => true }

/** Opens the traces that the settings name. */
export async function openTraces(config: Config, onTrouble: TraceTrouble): Promise<OpenTraces> {
  const url = findCollector(config)
  if (url === null) return closedTraces
  try {
    const { startOtel } = await import('./otel.ts')
    return startOtel(config, url, onTrouble)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    onTrouble('the packages of OpenTelemetry are not installed; docs/run-on-a-server.md says how')
    return closedTraces
  }
}

/** Where traces go; null for nowhere. */
export function findCollector({ otelIsDisabled, otlpEndpoint, otlpTracesEndpoint }: Config): string | null {
  if (otelIsDisabled) return null
  if (otlpTracesEndpoint !== null) return otlpTracesEndpoint
  return otlpEndpoint === null ? null : `${otlpEndpoint.replace(/\/+$/, '')}/v1/traces`
}
