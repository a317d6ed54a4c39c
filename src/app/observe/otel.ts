// Traces by the SDK of OpenTelemetry, which is loaded with this file. Nothing global is registered: each server has its own.
import { AsyncLocalStorage } from 'node:async_hooks'
import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Config } from '../../config.ts'
import { readTraceHeaders, type Span, toTraceHeaders, type TraceContext } from '../../core/traces.ts'
import type { OpenTraces, TraceTrouble } from './traces.ts'

// A stop waits no longer for a collector.
const flushMs = 1000

const kinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const

const propagator = new W3CTraceContextPropagator()

/** Writes the place of a span in its trace. */
function write(context: Context): TraceContext | null {
  const headers: Record<string, string> = {}
  propagator.inject(context, headers, { set: (carrier, name, value) => void (carrier[name] = value) })
  return readTraceHeaders(headers)
}

/** Reads a place in a trace; one that is malformed is none. */
function read(context: TraceContext | null): Context {
  return propagator.extract(ROOT_CONTEXT, toTraceHeaders(context), {
    get: (carrier, name) => carrier[name],
    keys: Object.keys,
  })
}

/**
 * Starts traces.
 * @param url where they go
 * @param onTrouble called when the collector does not take them, once until it does again, and then with null
 */
export function startOtel(config: Config, url: string, onTrouble: TraceTrouble): OpenTraces {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'mediagen' }))
    .merge(detectResources({ detectors: [resourceAttributesEnvDetector] }))
    .merge(resourceFromAttributes(config.otelServiceName === '' ? {} : { 'service.name': config.otelServiceName }))
  const exporter = watchExports(new OTLPTraceExporter({ url }), onTrouble)
  const processor = new BatchSpanProcessor({ exporter, scheduledDelayMillis: config.otelBatchMs })
  const provider = new TracerProvider({ resource, sampler: createSampler(config), spanProcessors: [processor] })
  const tracer = provider.getTracer('mediagen')
  const current = new AsyncLocalStorage<Context>()
  let closing: Promise<boolean> | undefined

  async function flush(): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<boolean>()
    const timer = setTimeout(resolve, flushMs, false)
    // A failure was reported.
    const sent = provider.shutdown().then(
      () => true,
      () => true,
    )
    const isOver = await Promise.race([sent, late])
    clearTimeout(timer)
    return isOver
  }

  return {
    isOn: true,
    open(name, { kind = 'internal', parent, link = null, startMs, facts = {} } = {}): Span {
      const above = parent === undefined ? (current.getStore() ?? ROOT_CONTEXT) : read(parent)
      const linked = trace.getSpanContext(read(link))
      const span = tracer.startSpan(
        name,
        {
          kind: kinds[kind],
          attributes: facts,
          ...(linked && { links: [{ context: linked }] }),
          ...(startMs !== undefined && { startTime: startMs }),
        },
        above,
      )
      const context = trace.setSpan(above, span)
      return {
        get context() {
          return write(context)
        },
        set: (more) => void span.setAttributes(more),
        fail(code) {
          span.setAttribute('error.type', code).setStatus({ code: SpanStatusCode.ERROR, message: code })
        },
        end: (endMs) => span.end(endMs),
        run: (work) => current.run(context, work),
      }
    },
    ids() {
      const found = current.getStore()
      const place = found && trace.getSpanContext(found)
      return place ? { trace_id: place.traceId, span_id: place.spanId } : {}
    },
    close: () => (closing ??= flush()),
  }
}

function createSampler({ otelSampler, otelSamplerArg }: Config): Sampler {
  const name = otelSampler.replace('parentbased_', '')
  const root =
    name === 'always_on'
      ? new AlwaysOnSampler()
      : name === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(otelSamplerArg)
  return otelSampler === name ? root : new ParentBasedSampler({ root })
}

/** The same exporter, whose failures are reported. */
function watchExports(exporter: SpanExporter, onTrouble: TraceTrouble): SpanExporter {
  let isInTrouble = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const failed = result.code === ExportResultCode.FAILED
        if (failed !== isInTrouble) onTrouble(failed ? (result.error?.message ?? 'unknown') : null)
        isInTrouble = failed
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}
