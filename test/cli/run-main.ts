// Runs a command in this process: src/main.ts, with what a process would be given and what it leaves. Starting Node and
// loading the program takes many times as long as most commands do.
import { vi } from 'vitest'
import { main } from '../../src/main.ts'

/** How a command ended. */
export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** What a process is given. */
export interface Given {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** Thrown where the command ends its process. */
class Exit extends Error {
  readonly status: number
  constructor(status: number) {
    super(`exit ${status}`)
    this.status = status
  }
}

// What belongs to the process is one command's at a time.
let last: Promise<unknown> = Promise.resolve()

/** Runs one command to its end; further ones wait for it. */
export function runMain(given: Given): Promise<Ended> {
  const next = last.then(() => runAlone(given))
  last = next.catch(() => {})
  return next
}

async function runAlone({ args, cwd, env }: Given): Promise<Ended> {
  const before = { env: process.env, cwd: process.cwd(), umask: process.umask(), exitCode: process.exitCode }
  const forgetListeners = [
    noteListeners(process.stdout, 'error'),
    noteListeners(process.stderr, 'error'),
    noteListeners(process, 'SIGTERM'),
    noteListeners(process, 'SIGINT'),
  ]
  const stdout = collect(process.stdout)
  const stderr = collect(process.stderr)
  const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Exit(code === undefined ? exitStatus() : Number(code))
  })
  process.env = { ...env }
  process.chdir(cwd)
  process.exitCode = undefined
  try {
    await main(['node', 'mediagen', ...args])
    return { status: exitStatus(), stdout: stdout.text(), stderr: stderr.text() }
  } catch (error) {
    if (!(error instanceof Exit)) throw error
    return { status: error.status, stdout: stdout.text(), stderr: stderr.text() }
  } finally {
    process.env = before.env
    process.chdir(before.cwd)
    process.umask(before.umask)
    process.exitCode = before.exitCode
    exit.mockRestore()
    stdout.restore()
    stderr.restore()
    for (const forget of forgetListeners) forget()
  }
}

const exitStatus = (): number => Number(process.exitCode ?? 0)

/** Keeps what is written instead of writing it. */
function collect(stream: NodeJS.WriteStream): { text(): string; restore(): void } {
  let text = ''
  const write = vi.spyOn(stream, 'write').mockImplementation((chunk) => {
    text += String(chunk)
    return true
  })
  return { text: () => text, restore: () => write.mockRestore() }
}

/** Notes who listens, and removes later whoever has come since. */
export function noteListeners(emitter: NodeJS.EventEmitter, event: string): () => void {
  const before = emitter.listeners(event)
  return () => {
    for (const listener of emitter.listeners(event).filter((each) => !before.includes(each)))
      emitter.off(event, listener as (...args: unknown[]) => void)
  }
}
