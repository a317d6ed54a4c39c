// A process without file descriptors: its own limit is lowered to what it has open, and raised again by a shell that runs already.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'

/** Why that cannot be done here, as the end of a test's name; empty if it can. */
export function whyNoLimits(): string {
  try {
    execFileSync('prlimit', ['--version'], { stdio: 'pipe' })
    return ''
  } catch {
    return ' (SKIPPED: there is no prlimit)'
  }
}

/** All file descriptors, taken until this is disposed of. */
export interface TakenDescriptors extends AsyncDisposable {
  /** Takes what has become free since: connections of earlier tests close late. */
  takeFreed(): void
}

/** Takes all file descriptors of this process. */
export async function takeDescriptors(): Promise<TakenDescriptors> {
  const [, soft = ''] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  const self = String(process.pid)
  const restorer = spawn('sh', ['-c', `read line; prlimit --pid ${self} --nofile=${soft}:`], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  await once(restorer, 'spawn')
  const probe = openSync('/dev/null', 'r')
  closeSync(probe)
  execFileSync('prlimit', ['--pid', self, `--nofile=${probe + 50}:`])
  const taken = takeAll()
  return {
    takeFreed: () => void taken.push(...takeAll()),
    async [Symbol.asyncDispose]() {
      for (const descriptor of taken) closeSync(descriptor)
      await raise(restorer)
    },
  }
}

function takeAll(): number[] {
  const taken: number[] = []
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EMFILE') throw error
  }
  return taken
}

async function raise(restorer: ChildProcess): Promise<void> {
  const exited = once(restorer, 'exit')
  restorer.stdin?.end('\n')
  await exited
}
