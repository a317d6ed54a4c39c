// Before each file: properties are tried on what the seed of the run makes of them, and the file has a temporary folder of its own.
// After it: no child process, no listening server and nothing in that folder is left.
import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { configureGlobal } from 'fast-check'
import { afterAll, expect } from 'vitest'
import { seed } from './seed.ts'

configureGlobal({ seed })

// Files share a process, so a child that one of them leaves behind disturbs the next ones, which may count their children.
const exitMs = 30_000
/** The children of this file, and where each was started. */
const children = new Map<ChildProcess, string>()

/** The servers that listened during this file, and where each began to. */
const servers = new Map<Server, string>()

function onChild(message: unknown): void {
  const { process: child } = message as { process: ChildProcess }
  children.set(child, whereNow())
}

function onListen(message: unknown): void {
  const { server } = message as { server: Server }
  servers.set(server, whereNow())
}

/** The test that runs, and the lines of ours that led here. */
function whereNow(): string {
  const frames = (new Error().stack ?? '').split('\n').filter((line) => !/node:|node_modules|setup\.ts/.test(line))
  return `during "${expect.getState().currentTestName}"\n${frames.slice(1).join('\n')}`
}

/** Whether a child has ended, or does so within a time. */
async function hasEnded(child: ChildProcess): Promise<boolean> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return true
  return once(child, 'exit', { signal: AbortSignal.timeout(exitMs) }).then(
    () => true,
    () => false,
  )
}

// As it was before the first file of this process: one that cannot be loaded does not come to the end.
const base = (process.env['MEDIAGEN_TEST_TMPDIR'] ??= tmpdir())
const folder = mkdtempSync(join(base, 'mg-'))
process.env['TMPDIR'] = folder
// Servers of other users, PostgreSQL's among them, pass through it.
chmodSync(folder, 0o711)

// https://nodejs.org/api/diagnostics_channel.html#built-in-channels
subscribe('child_process', onChild)
subscribe('tracing:net.server.listen:asyncStart', onListen)

afterAll(async () => {
  unsubscribe('child_process', onChild)
  unsubscribe('tracing:net.server.listen:asyncStart', onListen)
  const ended = await Promise.all([...children.keys()].map(hasEnded))
  const leftChildren = [...children].filter((_, index) => !ended[index])
  for (const [child] of leftChildren) child.kill('SIGKILL')
  const leftServers = [...servers].filter(([server]) => server.listening)
  for (const [server] of leftServers) server.close()
  const leftFiles = readdirSync(folder, { recursive: true })
  rmSync(folder, { recursive: true })
  process.env['TMPDIR'] = base

  const processes = leftChildren.map(
    ([{ pid, spawnargs }, where]) => `${pid}: ${spawnargs.join(' ')}\n  started ${where}`,
  )
  expect(processes, 'child processes that this file leaves behind').toEqual([])
  const addresses = leftServers.map(([server, where]) => `${JSON.stringify(server.address())}\n  listens ${where}`)
  expect(addresses, 'listening servers that this file leaves behind').toEqual([])
  expect(leftFiles, 'temporary files that this file leaves behind').toEqual([])
})
