// A render process for tests: it leaves a picture, or does what a broken renderer may do.

import { appendFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { replyDescriptor } from '@mediagen/engine/messages.ts'
import { serveTasks } from '@mediagen/engine/serve.ts'

// It may read what is beside it and what it is handed, and nothing else: a PNG of one pixel.
const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const hoard: Buffer[] = []

function flood(): void {
  try {
    writeSync(replyDescriptor, '{"type":"progress","fraction":0.5}\n'.repeat(100))
  } catch (error) {
    // The pipe is full.
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
  }
}

const tasks = serveTasks(async (request, onProgress) => {
  const { input, folder } = request as { input: { do: string }; folder: string }
  onProgress(0.1)
  switch (input.do) {
    case 'hang':
      for (;;);
    case 'crash':
      return process.abort()
    case 'leave':
      return process.exit(0)
    case 'kill':
      return process.kill(process.pid, 'SIGKILL')
    case 'leak':
      for (;;) hoard.push(Buffer.alloc(10_000_000, 1))
    case 'throw':
      throw new TypeError('secret /internal/path')
    case 'flood':
      for (;;) flood()
    case 'fill':
      for (;;) appendFileSync(join(folder, '.rendering'), Buffer.alloc(1_000_000, 1))
    default:
      writeFileSync(join(folder, 'output.png'), picture, 'base64')
      return { files: ['output.png'], usage: {} }
  }
})
tasks.ready()
