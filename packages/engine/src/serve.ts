// The loop of a forked process: takes one task at a time and answers.

import { flushCompileCache } from 'node:module'
import { Socket } from 'node:net'
import { fillArgument } from './code-cache.ts'
import { EngineError } from './engine.ts'
import { LineReader } from './lines.ts'
import { type Reply, replyDescriptor } from './messages.ts'

const memoryReportMs = 250
// Progress is not sent more often than this.
const progressMs = 20

// Writes synchronously if the pipe has room, so progress is sent before a task blocks the event loop.
const replies = new Socket({ fd: replyDescriptor, readable: false, writable: true })
// The server may end between two lines; the end of standard input then ends this process.
replies.on('error', () => {})

function reply(message: Reply): void {
  replies.write(`${JSON.stringify(message)}\n`)
}

function replyFailure(error: unknown): void {
  if (error instanceof EngineError) {
    reply({ type: 'failed', code: error.code, message: error.message, retryable: error.retryable })
  } else {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
    reply({ type: 'broken', stack, code: codeOf(error, stack) })
  }
}

/** The code of the system; native encoders only have its words. */
function codeOf(error: unknown, words: string): string | undefined {
  if (words.includes('No space left on device')) return 'ENOSPC'
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

/** Ends this process and the programs that it started, whose group it leads. */
function endGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } catch {
    process.exit()
  }
}

/** Performs a request. A draft is a file in the output folder that may be shown meanwhile. */
export type Perform = (
  request: unknown,
  onProgress: (fraction: number) => void,
  onDraft: (file: string) => void,
) => Promise<unknown>

/**
 * Makes this process a member of a `ProcessPool`: `perform` is called with each request, and its result is the
 * answer. Call `ready` of the returned object once everything is loaded.
 */
export function serveTasks(perform: Perform): {
  ready(): void
} {
  process.stdin.on('end', endGroup)
  // Ignores signals: only the server decides when its children end, since it may be draining.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => {})
  const takeRequest = (line: string): void => {
    let saidMs = Number.NEGATIVE_INFINITY
    const onProgress = (fraction: number): void => {
      const nowMs = performance.now()
      if (nowMs - saidMs < progressMs) return
      saidMs = nowMs
      reply({ type: 'progress', fraction })
    }
    const onDraft = (file: string): void => reply({ type: 'draft', file })
    perform(JSON.parse(line), onProgress, onDraft).then((result) => reply({ type: 'done', result }), replyFailure)
  }
  const requests = new LineReader(Infinity, takeRequest, () => {})
  process.stdin.on('data', (chunk: Buffer) => requests.write(chunk))
  // On Linux the parent can read a process's memory even while native code blocks the event loop; elsewhere the process reports it.
  if (process.platform !== 'linux') {
    setInterval(() => reply({ type: 'memory', rssBytes: process.memoryUsage.rss() }), memoryReportMs).unref()
  }
  return {
    ready() {
      reply({ type: 'ready' })
      // Node writes the cache at exit, but this process will end by SIGKILL.
      flushCompileCache()
      if (process.argv[2] === fillArgument) process.exit()
    },
  }
}
