// What the fault tests share: catalogs made of small shell programs, disks that can be filled, and what must hold after every fault.
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { listRuns } from '../files-on-disk.ts'
import type { TestApp } from '../test-app.ts'

/** The picture that programs of these tests leave when they mean well. */
export const picture = join(import.meta.dirname, '../models/picture.png')

/** A model that runs a shell script with the picture as `$0` and a folder for notes as `$1`. */
export interface Program {
  readonly name: string
  readonly script: string
  readonly timeoutSeconds?: number
  readonly resumable?: boolean
  /** In place of the shell and the script. */
  readonly run?: readonly string[]
}

/** Price of every such model. */
export const price = 10

/** The id of a program's model. */
export function modelOf(name: string): string {
  return `fault/${name}/text-to-image`
}

/** Writes a catalog into `folder`; JSON is YAML. */
export function writeCatalog(folder: string, programs: readonly Program[]): string {
  const file = join(folder, 'faults.yaml')
  const models = programs.map(
    ({ name, script, timeoutSeconds = 20, resumable = true, run = ['sh', '-c', script, picture, folder] }) => ({
      id: modelOf(name),
      name,
      description: 'A program of the fault tests.',
      category: 'text-to-image',
      modality: 'image',
      owned_by: 'tests',
      created: '2026-11-01',
      price: { credits: price },
      engine: { kind: 'command', run, timeout_seconds: timeoutSeconds, concurrency: 8, resumable },
      input: { type: 'object', additionalProperties: false, properties: { padding: { type: 'string' } } },
    }),
  )
  writeFileSync(file, JSON.stringify({ models }))
  return file
}

/** A folder that is removed with the test. */
export function makeFolder() {
  const path = mkdtempSync(join(tmpdir(), 'mediagen-fault-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** Processes of a group that live; the dead who wait to be buried do not count. */
export function listGroup(group: number): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      if (!Number.isInteger(pid)) return false
      try {
        // Fields 3 and 5 of proc_pid_stat(5): state and group, counted behind the name, which may hold spaces.
        const [state, , pgrp] = (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1) ?? '').split(' ')
        return Number(pgrp) === group && state !== 'Z' && state !== 'X'
      } catch {
        return false
      }
    })
}

/** Holds what must be true when nothing runs any more: no credit held, the ledger in order, no work left lying about. */
export async function expectWhole(app: TestApp): Promise<void> {
  const wallet = (await app.send('/v1/wallet')).body
  expect(wallet.held).toBe(0)
  expect((await app.admin.verifyLedger({})).problems).toEqual([])
  // A program that was stopped may take two seconds longer than its job.
  await expect.poll(() => listWork(app), { message: 'the work folder is empty' }).toEqual([])
}

/** Folders of runs. */
export function listWork(app: TestApp): string[] {
  return listRuns(app.config.dataDir)
}

const runInShell = (command: string): Buffer => execFileSync('sh', ['-c', command], { stdio: 'pipe' })

/** A small disk. */
export interface SmallDisk extends Disposable {
  remount(how: 'ro' | 'rw'): void
}

/** Mounts a small memory disk at `folder`; undone by `using`. */
export function mountDisk(folder: string, size: string): SmallDisk {
  mkdirSync(folder, { recursive: true })
  runInShell(`mount -t tmpfs -o size=${size} tmpfs '${folder}'`)
  return {
    remount: (how) => void runInShell(`mount -o remount,${how} '${folder}'`),
    [Symbol.dispose]: () => void runInShell(`umount -l '${folder}'`),
  }
}

/** Why this user cannot mount, as the end of a test's name; empty when it can. */
export function whyNoMounts(): string {
  using folder = makeFolder()
  try {
    mountDisk(folder.path, '64k')[Symbol.dispose]()
    return ''
  } catch (error) {
    return ` (SKIPPED: this user cannot mount: ${(error as Error).message.split('\n')[0]})`
  }
}

/** Takes all the room that is left. */
export function fillDisk(file: string): void {
  const chunk = Buffer.alloc(4096)
  const descriptor = openSync(file, 'w')
  try {
    for (;;) if (writeSync(descriptor, chunk) < chunk.length) break
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(descriptor)
  }
}
