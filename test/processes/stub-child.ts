// A process for tests of the pool: does what its task says.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError } from '../../src/core/engine.ts'
import { serveTasks } from '../../src/processes/serve.ts'

const hoard: Buffer[] = []

const tasks = serveTasks(async (request, onProgress) => {
  const task = request as { do: string; folder: string }
  switch (task.do) {
    case 'work':
      onProgress(0.5)
      await writeFile(join(task.folder, 'output.txt'), String(process.pid))
      return { files: ['output.txt'], pid: process.pid }
    case 'hang':
      onProgress(0.1)
      // Like native code, this answers to nothing but SIGKILL.
      for (;;);
    case 'crash':
      process.stderr.write('libpicture: assertion failed\n')
      return process.abort()
    case 'hoard':
      for (;;) hoard.push(Buffer.alloc(10_000_000, 1))
    default:
      throw new EngineError('invalid_media', 'image is empty.')
  }
})
tasks.ready()
