// A collector of traces: OTLP over HTTP, as protobuf, read by another library than the one that wrote it.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { loadSync, type MethodDefinition, type ServiceDefinition } from '@grpc/proto-loader'
import { startOtel } from '../../../src/app/observe/otel.ts'
import type { OpenTraces } from '../../../src/app/observe/traces.ts'
import { readConfig } from '../../../src/config.ts'

const { Export } = loadSync(join(import.meta.dirname, 'otlp.proto'), { longs: String })[
  'opentelemetry.proto.collector.trace.v1.TraceService'
] as ServiceDefinition
const { requestDeserialize } = Export as MethodDefinition<object, object>

/** A span as it was sent. */
export interface SentSpan {
  readonly service: string
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  /** Empty for a root. */
  readonly parentId: string
  readonly state: string
  /** Ids of spans. */
  readonly links: readonly string[]
  readonly startMs: number
  readonly endMs: number
  readonly facts: Readonly<Record<string, string | number>>
  /** The code of the error; null without one. */
  readonly error: string | null
}

/** A collector that listens. */
export interface Collector extends AsyncDisposable {
  /** The value of OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string
  readonly spans: SentSpan[]
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[]
  /** Answers are held back, or are this status, until it is set again. */
  behave: 'well' | 'silent' | number
}

const hex = (bytes: Buffer): string => bytes.toString('hex')

function toFacts(attributes: readonly any[] = []): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? (value.intValue === undefined ? value.doubleValue : Number(value.intValue)),
    ]),
  )
}

function readSpans(body: Buffer): SentSpan[] {
  const { resourceSpans } = requestDeserialize(body) as any
  return resourceSpans.flatMap(({ resource, scopeSpans }: any) =>
    scopeSpans.flatMap(({ spans }: any) =>
      spans.map((span: any) => ({
        service: String(toFacts(resource.attributes)['service.name']),
        name: span.name,
        kind: span.kind ?? 0,
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentId: span.parentSpanId ? hex(span.parentSpanId) : '',
        state: span.traceState ?? '',
        links: (span.links ?? []).map((link: any) => hex(link.spanId)),
        startMs: Number(span.startTimeUnixNano) / 1e6,
        endMs: Number(span.endTimeUnixNano) / 1e6,
        facts: toFacts(span.attributes),
        error: span.status?.code === 2 ? span.status.message : null,
      })),
    ),
  )
}

/** Starts a collector. */
export async function startCollector(): Promise<Collector> {
  const spans: SentSpan[] = []
  const requests: Collector['requests'] = []
  const server = createServer((request, response) => {
    void (async () => {
      const body = await buffer(request)
      requests.push({ path: request.url ?? '', headers: request.headers })
      if (collector.behave === 'silent') return
      if (collector.behave === 'well') spans.push(...readSpans(body))
      response.writeHead(collector.behave === 'well' ? 200 : collector.behave).end()
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    behave: 'well',
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
  return collector
}

/** Traces to a collector, sent at once, as the settings say. */
export function openTestTraces(
  { url }: Pick<Collector, 'url'>,
  env: Readonly<Record<string, string>> = {},
  onTrouble: (reason: string | null) => void = () => {},
): OpenTraces {
  return startOtel(readConfig({ OTEL_BSP_SCHEDULE_DELAY: '10', ...env }), `${url}/v1/traces`, onTrouble)
}

/** A trace as lines that are indented by their depth: the service, the name, and the facts that are named. */
export function toTree(spans: readonly SentSpan[], traceId: string, show: readonly string[] = []): string[] {
  const ofTrace = spans.filter((span) => span.traceId === traceId)
  const ids = new Set(ofTrace.map(({ spanId }) => spanId))
  const below = (parentId: string | null, depth: number): string[] =>
    ofTrace
      .filter((span) => (parentId === null ? !ids.has(span.parentId) : span.parentId === parentId))
      .toSorted((a, b) => a.startMs - b.startMs)
      .flatMap((span) => [
        [`${'  '.repeat(depth)}${span.service}: ${span.name}`, ...show.map((name) => span.facts[name] ?? '-')].join(
          ' ',
        ),
        ...below(span.spanId, depth + 1),
      ])
  return below(null, 0)
}
