// The context of a call outside of Connect's own handlers.
import type { DescMethod } from '@bufbuild/protobuf'
import { type ContextValues, createContextValues, type HandlerContext } from '@connectrpc/connect'
import type { CallHead } from './service.ts'

const neverAborts = new AbortController().signal

/**
 * The context of one call. A class, because a literal with getters is defined anew for each object. Connect's
 * `createHandlerContext` creates headers and a signal for each call, which our services do not look at.
 */
export class CallContext implements HandlerContext {
  readonly method: DescMethod
  readonly values: ContextValues
  readonly requestMethod = 'POST'
  readonly protocolName = 'in-process'
  private readonly head: CallHead
  private readonly given: AbortSignal | undefined
  private readonly deadlineMs: number
  private readonly deadline: AbortSignal | undefined
  private joined: AbortSignal | undefined

  constructor(
    method: DescMethod,
    head: CallHead,
    given: AbortSignal | undefined,
    timeoutMs?: number,
    values?: ContextValues,
  ) {
    this.method = method
    this.values = values ?? createContextValues()
    this.head = head
    this.given = given
    this.deadlineMs = timeoutMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs
    this.deadline = timeoutMs === undefined ? undefined : AbortSignal.timeout(Math.max(0, timeoutMs))
    this.joined = undefined
  }

  get service(): HandlerContext['service'] {
    return this.method.parent
  }

  get url(): string {
    return `mediagen:/${this.service.typeName}/${this.method.name}`
  }

  get signal(): AbortSignal {
    return (this.joined ??= joinSignals(this.given, this.deadline))
  }

  get host(): string | null {
    return this.head.host ?? null
  }

  get requestHeader(): Headers {
    const { authorization, host, requestId } = this.head
    return new Headers({
      ...(authorization && { authorization }),
      ...(host && { 'x-forwarded-host': host }),
      'x-request-id': requestId,
    })
  }

  get responseHeader(): Headers {
    return new Headers({ 'x-request-id': this.head.requestId })
  }

  get responseTrailer(): Headers {
    return new Headers()
  }

  timeoutMs(): number | undefined {
    return this.deadline && this.deadlineMs - performance.now()
  }
}

/** The host at which the caller reached the server; null if that is unknown. */
export function hostOf(context: Pick<HandlerContext, 'requestHeader'>): string | null {
  // Headers would be created for this alone.
  if (context instanceof CallContext) return context.host
  const { requestHeader } = context
  return requestHeader.get('x-forwarded-host') ?? requestHeader.get('host')
}

function joinSignals(signal: AbortSignal | undefined, deadline: AbortSignal | undefined): AbortSignal {
  return signal && deadline ? AbortSignal.any([signal, deadline]) : (signal ?? deadline ?? neverAborts)
}
