// What runs in a forked process: takes one task at a time over IPC and answers.

import { EngineError } from '../core/engine.ts'
import type { Reply } from './messages.ts'

const memoryReportMs = 250

function reply(message: Reply): void {
  // The parent may be gone between two lines; 'disconnect' then ends this process.
  if (process.connected) process.send?.(message)
}

function replyFailure(error: unknown): void {
  if (error instanceof EngineError) {
    reply({ type: 'failed', code: error.code, message: error.message, retryable: error.retryable })
  } else {
    reply({ type: 'broken', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
}

/**
 * Makes this process one of a `ProcessPool`: `perform` is called with each request, and what it resolves to is the
 * answer. Call `ready` of the returned object once everything is loaded.
 */
export function serveTasks(perform: (request: unknown, onProgress: (fraction: number) => void) => Promise<unknown>): {
  ready(): void
} {
  process.on('disconnect', () => process.exit())
  // A terminal's ^C reaches the whole process group, but the server decides when its children end: it may be draining.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => {})
  process.on('message', (request) => {
    perform(request, (fraction) => reply({ type: 'progress', fraction })).then(
      (result) => reply({ type: 'done', result }),
      replyFailure,
    )
  })
  // Linux tells a process's memory to its parent even while native code blocks the event loop; elsewhere we do.
  if (process.platform !== 'linux') {
    setInterval(() => reply({ type: 'memory', rssBytes: process.memoryUsage.rss() }), memoryReportMs).unref()
  }
  return { ready: () => reply({ type: 'ready' }) }
}
