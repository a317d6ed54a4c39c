// What runs in a forked process: takes one task at a time and answers.

import { flushCompileCache } from 'node:module'
import { Socket } from 'node:net'
import { EngineError } from './engine.ts'
import { LineReader } from './lines.ts'
import { type Reply, replyDescriptor } from './messages.ts'

const memoryReportMs = 250
// More often, nobody looks.
const progressMs = 20

// Writes at once where the pipe has room, so that a task that blocks the event loop is heard of before.
const replies = new Socket({ fd: replyDescriptor, readable: false, writable: true })
// The server may be gone between two lines; the end of standard input then ends this process.
replies.on('error', () => {})

function reply(message: Reply): void {
  replies.write(`${JSON.stringify(message)}\n`)
}

function replyFailure(error: unknown): void {
  if (error instanceof EngineError) {
    reply({ type: 'failed', code: error.code, message: error.message, retryable: error.retryable })
  } else {
    reply({ type: 'broken', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
}

/** Ends this process and the programs that it has started: it leads their group. */
function endGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } catch {
    process.exit()
  }
}

/**
 * Makes this process one of a `ProcessPool`: `perform` is called with each request, and what it resolves to is the
 * answer. Call `ready` of the returned object once everything is loaded.
 */
export function serveTasks(perform: (request: unknown, onProgress: (fraction: number) => void) => Promise<unknown>): {
  ready(): void
} {
  process.stdin.on('end', endGroup)
  // Only the server decides when its children end: it may be draining.
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
    perform(JSON.parse(line), onProgress).then((result) => reply({ type: 'done', result }), replyFailure)
  }
  const requests = new LineReader(Infinity, takeRequest, () => {})
  process.stdin.on('data', (chunk: Buffer) => requests.write(chunk))
  // Linux tells a process's memory to its parent even while native code blocks the event loop; elsewhere we do.
  if (process.platform !== 'linux') {
    setInterval(() => reply({ type: 'memory', rssBytes: process.memoryUsage.rss() }), memoryReportMs).unref()
  }
  return {
    ready() {
      reply({ type: 'ready' })
      // Node keeps it at the end, and the end of this process will be SIGKILL.
      flushCompileCache()
    },
  }
}
