// The log's line about each call that was answered. Lines are built by hand and written in batches, which costs a seventh of
// what pino would (docs/decisions/call-log.md).
import type { DescMethod } from '@bufbuild/protobuf'
import { type Logger, pino } from 'pino'
import { toTimestampText } from '@mediagen/core/clock.ts'
import { redactSecrets } from '@mediagen/core/log-text.ts'

// A batch is written when it is this long or this old.
const batchLength = 16_384
const batchMs = 50

/** A call that was answered. */
export interface AnsweredCall {
  readonly rpc: string
  readonly requestId: string
  readonly ms: number
  readonly keyId: string
  readonly accountId: string
  /** The job that the call started, read or changed; null if it was about none. */
  readonly jobId: string | null
}

/** Writes the lines. */
export interface CallLog {
  note(call: AnsweredCall): void
  /** Writes the lines that are still buffered. */
  flush(): void
}

/**
 * Creates the lines of a logger; they have its level `info`.
 * @param nowMs the clock of the log
 */
export function createCallLog(log: Logger, nowMs: () => number = Date.now): CallLog {
  const stream = (log as unknown as Record<symbol, { write(text: string): void }>)[pino.symbols.streamSym]
  let batch = ''
  let timer: NodeJS.Timeout | undefined
  // Every piece of a line costs, so what is the same in lines of an rpc in a millisecond, and in those of a key, is one piece.
  let begunMs = Number.NaN
  let rpc = ''
  let begin = ''
  let keyId = ''
  let owner = ''

  function flush(): void {
    if (batch !== '') stream?.write(batch)
    batch = ''
  }

  function flushLate(): void {
    timer = undefined
    flush()
  }

  return {
    note(call) {
      if (!log.isLevelEnabled('info')) return
      const atMs = nowMs()
      if (atMs !== begunMs || call.rpc !== rpc) {
        begunMs = atMs
        ;({ rpc } = call)
        begin = toOnePiece(`{"level":30,"time":"${toTimestampText(atMs)}","rpc":"${rpc}","code":"ok","ms":`)
      }
      if (call.keyId !== keyId) {
        ;({ keyId } = call)
        owner = toOnePiece(`","key_id":"${keyId}","account_id":"${call.accountId}`)
      }
      // Nothing needs escaping: the doors check request ids, and this server makes the others.
      const job = call.jobId === null ? '' : `","job_id":"${call.jobId}`
      const ms = Math.round(call.ms * 100) / 100
      batch += `${begin}${ms},"request_id":"${redactSecrets(call.requestId)}${owner}${job}","msg":"call"}\n`
      if (batch.length > batchLength) flush()
      else timer ??= setTimeout(flushLate, batchMs).unref()
    },
    flush,
  }
}

/** The same text, which V8 keeps as a tree of the pieces that it was made of. */
function toOnePiece(text: string): string {
  return Buffer.from(text).toString()
}

/** Finds the job that an answered call was about; null for none. A stream has no response. */
export type FindJobId = (request: object, response: Answer | null) => string | null

interface Answer {
  readonly job?: { readonly jobId?: string }
}

/** Creates the finder of an rpc: the job of the response, else the one that the request names. */
export function createJobFinder({ input, output }: DescMethod): FindJobId {
  const named: FindJobId = input.field['jobId'] === undefined ? () => null : readJobId
  if (output.field['job']?.message?.field['jobId'] === undefined) return named
  return (request, response) => response?.job?.jobId ?? named(request, null)
}

/** Null for anything but one of our ids. */
function readJobId(request: object): string | null {
  const { jobId } = request as { jobId: string }
  return /^job_\w{1,40}$/.test(jobId) ? jobId : null
}
