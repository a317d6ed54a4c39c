// Before each file: properties are tried on what the seed of the run makes of them. After it: no child process is left.
import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { configureGlobal } from 'fast-check'
import { afterAll, expect } from 'vitest'
import { seed } from './seed.ts'

configureGlobal({ seed })

// Files share a process, so a child that one of them leaves behind disturbs the next ones, which may count their children.
const exitMs = 30_000
/** The children of this file, and where each was started. */
const children = new Map<ChildProcess, string>()

function onChild(message: unknown): void {
  const { process: child } = message as { process: ChildProcess }
  const frames = (new Error().stack ?? '').split('\n').filter((line) => !/node:|node_modules|setup\.ts/.test(line))
  children.set(child, `during "${expect.getState().currentTestName}"\n${frames.slice(1).join('\n')}`)
}

/** Whether a child has ended, or does so within a time. */
async function hasEnded(child: ChildProcess): Promise<boolean> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return true
  return once(child, 'exit', { signal: AbortSignal.timeout(exitMs) }).then(
    () => true,
    () => false,
  )
}

subscribe('child_process', onChild)

afterAll(async () => {
  const ended = await Promise.all([...children.keys()].map(hasEnded))
  unsubscribe('child_process', onChild)
  const left = [...children].filter((_, index) => !ended[index])
  for (const [child] of left) child.kill('SIGKILL')
  const words = left.map(([{ pid, spawnargs }, where]) => `${pid}: ${spawnargs.join(' ')}\n  started ${where}`)
  expect(words, 'child processes that this file leaves behind').toEqual([])
})
