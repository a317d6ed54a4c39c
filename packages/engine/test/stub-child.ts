// A process for tests of the pool: behaves as its task says.

import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, writeSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError } from '../src/engine.ts'
import { replyDescriptor } from '../src/messages.ts'
import { serveTasks } from '../src/serve.ts'

const hoard: Buffer[] = []

function write(text: string, descriptor = replyDescriptor): void {
  try {
    writeSync(descriptor, text)
  } catch (error) {
    // The pipe is full.
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
  }
}

const tasks = serveTasks(async (request, onProgress) => {
  const task = request as { do: string; folder: string; input: string }
  switch (task.do) {
    case 'work':
      onProgress(0.5)
      await writeFile(join(task.folder, 'output.txt'), String(process.pid))
      return { files: ['output.txt'], pid: process.pid }
    case 'hang':
      onProgress(0.1)
      // Like native code, this reacts only to SIGKILL.
      for (;;);
    case 'crash':
      process.stderr.write('libpicture: assertion failed\n')
      return process.abort()
    case 'leak':
      hoard.push(Buffer.alloc(30_000_000, 1))
      await writeFile(join(task.folder, 'output.txt'), String(process.pid))
      return { files: ['output.txt'], pid: process.pid }
    case 'flood':
      for (;;) write('{"type":"progress","fraction":0.5}\n')
    case 'one endless message':
      for (;;) write('['.repeat(65_536))
    case 'no message':
      write('good evening\n')
      return await new Promise(() => {})
    case 'chatter':
      for (;;) write('and so on, and so on, '.repeat(3000), 2)
    case 'fill the disk':
      for (;;) appendFileSync(join(task.folder, '.rendering'), Buffer.alloc(1_000_000, 1))
    case 'hoard':
      for (;;) hoard.push(Buffer.alloc(10_000_000, 1))
    case 'start a program that hangs':
    case 'start a program that hoards':
    case 'start a program and crash': {
      // Ignores everything: it does not notice that its parent has ended or its input is closed.
      const hoards = task.do.endsWith('hoards')
      const go = JSON.stringify(join(task.input, 'go'))
      const script = `const hoard = []; const { existsSync } = require('node:fs')
        setInterval(() => { if (${hoards} && existsSync(${go}) && hoard.length < 60) hoard.push(Buffer.alloc(10_000_000, 1)) }, 5)
        for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {})
        const pid = ${JSON.stringify(join(task.folder, 'pid'))}
        require('node:fs').writeFileSync(pid + '.part', String(process.pid))
        require('node:fs').renameSync(pid + '.part', pid)`
      spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'ignore', 'ignore'] })
      while (!existsSync(join(task.folder, 'pid'))) await new Promise((resolve) => setTimeout(resolve, 10))
      onProgress(0.1)
      while (task.do.endsWith('crash') && !existsSync(join(task.input, 'go')))
        await new Promise((resolve) => setTimeout(resolve, 10))
      if (task.do.endsWith('crash')) return process.abort()
      for (;;) await new Promise((resolve) => setTimeout(resolve, 1000))
    }
    default:
      throw new EngineError('invalid_media', 'image is empty.')
  }
})
tasks.ready()
