// What runs in a forked child: takes one job at a time over IPC, leaves its output in the job's folder, answers.

import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError } from '../../core/engine.ts'
import type { RenderReply, RenderRequest } from './messages.ts'
import { isRendererName, loadRenderer, rendererNames } from './renderers.ts'

const memoryReportMs = 250
const temporaryName = '.rendering'

function reply(message: RenderReply): void {
  // The parent may be gone between two lines; 'disconnect' then ends this process.
  if (process.connected) process.send?.(message)
}

async function render(request: RenderRequest): Promise<void> {
  const { renderer: name, input, folder } = request
  if (!isRendererName(name)) throw new Error(`No renderer is named ${name}`)
  const renderer = await loadRenderer(name)
  const file = join(folder, temporaryName)
  const { extension, usage } = await renderer({
    input,
    file,
    onProgress: (fraction) => reply({ type: 'progress', fraction }),
  })
  const output = `output.${extension}`
  await rename(file, join(folder, output))
  reply({ type: 'done', files: [output], usage })
}

function replyFailure(error: unknown): void {
  if (error instanceof EngineError) {
    reply({ type: 'failed', code: error.code, message: error.message, retryable: error.retryable })
  } else {
    reply({ type: 'broken', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
}

process.on('disconnect', () => process.exit())
// A terminal's ^C reaches the whole process group, but the server decides when its children end: it may be draining.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('message', (request) => {
  render(request as RenderRequest).catch(replyFailure)
})

// Linux tells a process's memory to its parent even while native code blocks the event loop; elsewhere we do.
if (process.platform !== 'linux') {
  setInterval(() => reply({ type: 'memory', rssBytes: process.memoryUsage.rss() }), memoryReportMs).unref()
}

await Promise.all(rendererNames.map(loadRenderer))
reply({ type: 'ready' })
