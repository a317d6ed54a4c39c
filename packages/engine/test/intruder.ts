// A process for tests of containment: tries forbidden things, and answers with the result of each.

import { spawn, spawnSync } from 'node:child_process'
import { closeSync, linkSync, openSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { serveTasks } from '../src/serve.ts'

/** One attempt and its parameters. */
export interface Attempt {
  readonly do: keyof typeof attempts
  readonly path: string
  readonly count: number
  readonly folder: string
}

/** Runs a program other than Node, which Node's permissions do not hold, and returns its output. */
function runShell(script: string): string {
  const { stdout, stderr, error } = spawnSync('/bin/sh', ['-c', script], { encoding: 'utf8' })
  if (error) throw error
  return (stdout + stderr).trim()
}

const attempts = {
  read: ({ path }: Attempt) => readFileSync(path, 'utf8'),
  'read by a program': ({ path }: Attempt) => runShell(`cat '${path}'`),
  write: ({ path }: Attempt) => writeFileSync(path, 'x'),
  'write by a program': ({ path }: Attempt) => runShell(`echo x > '${path}' && echo written`),
  link: ({ path, folder }: Attempt) => linkSync(path, join(folder, 'link')),
  symlink: ({ path, folder }: Attempt) => symlinkSync(path, join(folder, 'link')),
  connect: ({ count: port }: Attempt) =>
    new Promise((resolve, reject) => {
      connect(port, '127.0.0.1', () => resolve('connected')).on('error', reject)
    }),
  'start programs': async ({ count }: Attempt) => {
    let started = 0
    const failed = new Promise<unknown>((resolve) => {
      for (let i = 0; i < count; i++)
        spawn('/bin/sleep', ['60'], { stdio: 'ignore' })
          .on('spawn', () => void (++started === count && resolve(null)))
          .on('error', resolve)
    })
    const error = (await failed) as NodeJS.ErrnoException | null
    return { started, code: error?.code ?? null }
  },
  'leave a program': () => {
    // It outlives the process that started it, because it has a session and a group of its own.
    spawnSync('/bin/sh', ['-c', 'setsid sleep 61 > /dev/null 2>&1 < /dev/null &'], { stdio: 'ignore' })
  },
  'open files': ({ count, folder }: Attempt) => {
    const path = join(folder, 'file')
    writeFileSync(path, 'x')
    const open: number[] = []
    try {
      while (open.length < count) open.push(openSync(path, 'r'))
      return open.length
    } finally {
      for (const descriptor of open) closeSync(descriptor)
    }
  },
  'write much': ({ count, folder }: Attempt) => {
    const descriptor = openSync(join(folder, 'much'), 'w')
    for (let megabytes = 0; megabytes < count; megabytes++) writeFileSync(descriptor, Buffer.alloc(1_000_000))
    return 'written'
  },
  'end by a signal': () => process.kill(process.pid, 'SIGKILL'),
  status: () => readFileSync('/proc/self/status', 'utf8'),
  'status of a program': () => runShell('cat /proc/self/status /proc/self/limits'),
  hoard: () => {
    const hoard: Buffer[] = []
    for (;;) hoard.push(Buffer.alloc(10_000_000, 1))
  },
  environment: () => ({ ...process.env }),
  work: ({ folder }: Attempt) => writeFileSync(join(folder, 'work'), 'x'),
}

serveTasks(async (request) => {
  const attempt = request as Attempt
  try {
    return { answer: await attempts[attempt.do](attempt) }
  } catch (error) {
    return { code: (error as NodeJS.ErrnoException).code, message: (error as Error).message }
  }
}).ready()
