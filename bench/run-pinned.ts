// Runs a program to its end on the core for servers, and answers with what it printed.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Cores } from './cores.ts'

/** What a program printed. */
export interface Printed {
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program; where cores cannot be given out, anywhere. */
export function runPinned(cores: Cores | null, program: string, args: readonly string[]): Promise<Printed> {
  const [file, ...rest] = cores ? ['taskset', '--cpu-list', String(cores.server), program, ...args] : [program, ...args]
  return promisify(execFile)(file, rest, { maxBuffer: 1e7 })
}

/** Runs a script that makes media, from the package of the models that ship; it prints one JSON value. */
export async function runScript(cores: Cores | null, script: string, args: readonly string[]): Promise<unknown> {
  const path = join(import.meta.dirname, '../packages/builtin/bench', script)
  const { stdout } = await runPinned(cores, process.execPath, [path, ...args])
  return JSON.parse(stdout)
}
