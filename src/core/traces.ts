// The port to traces: spans that are made by hand. Without traces they are one object that does nothing.

/** Where a span is in a trace, as W3C Trace Context writes it: `traceparent`, then a space and `tracestate` if there is one. */
export type TraceContext = string

/** What a span says, by name. Never inputs, secrets, signed URLs or texts of keys. */
export type SpanFacts = Readonly<Record<string, string | number>>

/** What a span begins with. */
export interface SpanOptions {
  /** How it stands to other processes. Default: internal. */
  readonly kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer'
  /** What it is a part of, perhaps in another process; null for a trace of its own. Default: the current span. */
  readonly parent?: TraceContext | null
  /** A span of another trace that caused it. */
  readonly link?: TraceContext | null
  /** When it began, in milliseconds since 1970. Default: now. */
  readonly startMs?: number
  readonly facts?: SpanFacts
}

/** Something that takes time. */
export interface Span {
  /** For those who go on with it; null without traces. */
  readonly context: TraceContext | null
  set(facts: SpanFacts): void
  /** Says that it failed, and why: the code of an error, never its words. */
  fail(code: string): void
  /** @param endMs when it ended, in milliseconds since 1970; default: now */
  end(endMs?: number): void
  /** Does work with this as the current span: of the spans that begin meanwhile, and of lines in the log. */
  run<Result>(work: () => Result): Result
}

/** Makes spans. */
export interface Traces {
  /** Whether anything becomes of them. */
  readonly isOn: boolean
  open(name: string, options?: SpanOptions): Span
}

const noSpan: Span = {
  context: null,
  set() {},
  fail() {},
  end() {},
  run: (work) => work(),
}

/** Without traces. */
export const noTraces: Traces = { isOn: false, open: () => noSpan }

/** Does work in a span, which fails if the work does. */
export async function inSpan<Result>(
  traces: Traces,
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  const span = traces.open(name, options)
  try {
    return await span.run(() => work(span))
  } catch (error) {
    span.fail(toFailure(error))
    throw error
  } finally {
    span.end()
  }
}

/** The code of an error, or else its kind. */
function toFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

// W3C Trace Context lets a longer one be dropped.
const longestState = 512
const longestParent = 128

/** Where a caller is in a trace, by the headers of its request; null if they say nothing. What is malformed is ignored when a span begins. */
export function readTraceHeaders(headers: Readonly<Record<string, unknown>>): TraceContext | null {
  const { traceparent, tracestate } = headers
  if (typeof traceparent !== 'string' || traceparent.length > longestParent) return null
  return typeof tracestate === 'string' && tracestate.length <= longestState
    ? `${traceparent} ${tracestate}`
    : traceparent
}

/** The headers for another process that goes on with a span. */
export function toTraceHeaders(context: TraceContext | null): Record<string, string> {
  if (context === null) return {}
  const [traceparent = '', ...state] = context.split(' ')
  return { traceparent, ...(state.length > 0 && { tracestate: state.join(' ') }) }
}
