// The settings of traces: variables of OpenTelemetry, with the meaning that they have everywhere. Its exporter itself reads the others
// that begin with OTEL_EXPORTER_OTLP_.
import { integer, text } from './setting.ts'

/** Who decides whether a trace is recorded: the sampler of OpenTelemetry with this name. */
export type TraceSampler = (typeof samplers)[number]

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

export const traceSettings = {
  otlpEndpoint: text(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    '',
    'Collector of [traces](run-on-a-server.md#traces), such as `http://127.0.0.1:4318`; empty for none',
    parseEndpoint,
  ),
  otlpTracesEndpoint: text(
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    '',
    'The same as a whole address, such as `http://127.0.0.1:4318/v1/traces`',
    parseEndpoint,
  ),
  otlpHeaders: text('OTEL_EXPORTER_OTLP_HEADERS', '', 'Headers for the collector: `name=value`, separated by commas'),
  otlpProtocol: text(
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    'http/protobuf',
    'How the collector is spoken to: `http/protobuf`',
    parseProtocol,
  ),
  otelServiceName: text('OTEL_SERVICE_NAME', '', 'Name of the service in traces; empty for `mediagen`'),
  otelSampler: text(
    'OTEL_TRACES_SAMPLER',
    'parentbased_always_on',
    `Which traces are recorded: ${samplers.map((name) => `\`${name}\``).join(', ')}`,
    parseSampler,
  ),
  otelSamplerArg: text('OTEL_TRACES_SAMPLER_ARG', '1', 'Share of the traces for `traceidratio`, 0 to 1', parseRatio),
  otelBatchMs: integer('OTEL_BSP_SCHEDULE_DELAY', 5000, 1, 3_600_000, 'How often traces are sent, in milliseconds'),
  otelIsDisabled: text(
    'OTEL_SDK_DISABLED',
    'false',
    '`true` for no traces, whatever else is set',
    (written) => written.toLowerCase() === 'true',
  ),
} as const

function parseEndpoint(written: string): string | null {
  if (written === '') return null
  if (!/^https?:$/.test(URL.parse(written)?.protocol ?? ''))
    throw new Error('must be an address that begins with `http://` or `https://`')
  return written
}

function parseProtocol(written: string): string {
  if (written !== 'http/protobuf') throw new Error('must be `http/protobuf`')
  return written
}

function parseSampler(written: string): TraceSampler {
  const found = samplers.find((name) => name === written)
  if (found === undefined) throw new Error(`must be one of ${samplers.join(', ')}`)
  return found
}

function parseRatio(written: string): number {
  const ratio = Number(written)
  if (!(ratio >= 0 && ratio <= 1)) throw new Error('must be a number, 0 to 1')
  return ratio
}
