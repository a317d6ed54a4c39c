// A render process for tests of the pool: does what its job's input says, and nothing with pictures.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const hoard: Buffer[] = []

process.on('disconnect', () => process.exit())
async function obey(request: { input: { do: string }; folder: string }): Promise<void> {
  switch (request.input.do) {
    case 'work':
      process.send?.({ type: 'progress', fraction: 0.5 })
      await writeFile(join(request.folder, 'output.txt'), String(process.pid))
      process.send?.({ type: 'done', files: ['output.txt'], usage: { pid: process.pid } })
      return
    case 'hang':
      process.send?.({ type: 'progress', fraction: 0.1 })
      // Like native code, this answers to nothing but SIGKILL.
      for (;;);
    case 'crash':
      process.stderr.write('libpicture: assertion failed\n')
      return process.abort()
    case 'refuse':
      process.send?.({ type: 'failed', code: 'invalid_media', message: 'image is empty.', retryable: false })
      return
    case 'hoard':
      for (;;) hoard.push(Buffer.alloc(10_000_000, 1))
  }
}

process.on('message', (request) => void obey(request as Parameters<typeof obey>[0]))
process.send?.({ type: 'ready' })
