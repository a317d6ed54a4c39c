// A program and everything that it starts, as one process group: started without a shell, stopped together, and not
// left behind when this server dies.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { limitProgram } from '@mediagen/engine/limited-program.ts'
import type { Program } from './program.ts'

/** How the program itself ended: by an exit code or by a signal. */
export interface ProgramEnd {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
}

/** A running program with its descendants. */
export interface ProcessGroup {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Resolves when the program has ended, no process of its group is left and its output has been read. Never rejects. */
  readonly ended: Promise<ProgramEnd>
  /** SIGTERM to the group now, SIGKILL after the grace that it was started with. */
  readonly terminate: () => void
  /** SIGKILL to the group now. */
  readonly kill: () => void
}

/** How often a dying group is checked. */
const pollMs = 20
/** How long a killed group may take to vanish. It is bounded because zombies stay where process 1 does not reap them. */
const buryMs = 100
/** How long output is still read when the group is gone but a descendant outside it holds the pipes open. */
const drainMs = 1000

/**
 * Starts the program as the leader of a process group of its own, working in `folder`. Descendants that leave the
 * group (setsid, a daemon) are out of reach, but do not keep `ended` waiting.
 * @param killAfterMs grace between SIGTERM and SIGKILL
 * @throws the error of the system call when the program cannot be started
 */
export async function startProcessGroup(program: Program, folder: string, killAfterMs: number): Promise<ProcessGroup> {
  const { path, args } = limitProgram(program, program.limits)
  const child = spawn(path, args, {
    cwd: folder,
    env: program.environment,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // Comes before the loop turns, so no later event can be missed; rejects when the event is `error`.
  await once(child, 'spawn')
  const pid = child.pid as number
  let killTimer: NodeJS.Timeout | undefined
  let killed = false
  let over = false

  const signalGroup = (signal: NodeJS.Signals | 0): boolean => {
    // Once the group is gone, its number may be reused.
    if (over) return false
    try {
      return process.kill(-pid, signal)
    } catch {
      return false
    }
  }
  const kill = () => {
    killed = true
    signalGroup('SIGKILL')
  }
  const terminate = () => {
    if (killTimer !== undefined) return
    signalGroup('SIGTERM')
    killTimer = setTimeout(kill, killAfterMs)
  }

  const end = async (): Promise<ProgramEnd> => {
    const closed = once(child, 'close')
    await once(child, 'exit')
    // After a SIGTERM the others keep their grace although the leader is gone: `sh` dies at once, its children may
    // still save their work. After a normal exit nothing may touch the outputs any more.
    if (killTimer === undefined) kill()
    let leftMs = buryMs
    while (leftMs > 0 && signalGroup(0)) {
      await sleep(pollMs)
      if (killed) leftMs -= pollMs
    }
    await Promise.race([closed, sleep(drainMs, undefined, { ref: false })])
    return { exitCode: child.exitCode, signal: child.signalCode }
  }

  const release = watchOver(pid, killAfterMs)
  const ended = end().finally(() => {
    over = true
    clearTimeout(killTimer)
    release()
    // A descendant outside the group may still hold the other ends.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
  })
  return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, ended, terminate, kill }
}

/**
 * Starts a tiny shell that waits for a line from this process. It gets the line when the group has ended; when this
 * process dies instead, however it dies, the pipe ends without a line and the shell stops the group. Best effort: without
 * /bin/sh there is no watch, and a server that dies between the two starts leaves the group behind.
 */
function watchOver(pid: number, killAfterMs: number): () => void {
  const script = 'read -r line || { kill -s TERM -- "-$0"; sleep "$1"; kill -s KILL -- "-$0"; }'
  try {
    const watcher = spawn('/bin/sh', ['-c', script, String(pid), String(Math.ceil(killAfterMs / 1000))], {
      env: { PATH: '/usr/bin:/bin' },
      // In its own group, or a signal that kills the server's group would kill the watch too.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    watcher.on('error', () => {})
    watcher.stdin.on('error', () => {})
    watcher.unref()
    return () => void watcher.stdin.end('\n')
  } catch {
    // Without file descriptors or memory there is no pipe. The program already runs, so it continues without a watch.
    return () => {}
  }
}
