// Directories of processes: one that lives keeps its folders whatever its process id is, one that is dead leaves them to the next.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { createWorkerDirectory, type WorkerDirectory, succeedDead } from '../../src/runner/worker-directory.ts'
import { awaitFile } from '../test-app.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mediagen-workers-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const layOut = () => ({
  locks: join(folder, 'locks'),
  work: join(folder, 'work'),
  processes: join(folder, 'processes'),
})
const nameOf = (letter: string): string => `worker_${letter.repeat(26)}`
const log = pino({ level: 'silent' })

function openWorkerDirectory(letter: string): WorkerDirectory {
  const workerDirectory = createWorkerDirectory(layOut(), nameOf(letter))
  workerDirectory.open()
  return workerDirectory
}

/** Another process that has a worker directory until it is killed. */
async function spawnWorker(letter: string) {
  const module = JSON.stringify(new URL('../../src/runner/worker-directory.ts', import.meta.url).href)
  const code = `import { createWorkerDirectory } from ${module}
    createWorkerDirectory(${JSON.stringify(layOut())}, '${nameOf(letter)}').open()
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: 'ignore' })
  await awaitFile(join(folder, 'processes', nameOf(letter)))
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    if (child.signalCode === null) await once(child, 'exit')
  }
  onTestFinished(kill)
  return { kill }
}

test('a worker directory has a lock and folders while its process lives, and nothing of it stays when it leaves', () => {
  const workerDirectory = openWorkerDirectory('a')
  for (const parent of ['locks', 'work', 'processes'])
    expect(readdirSync(join(folder, parent)), parent).toEqual([nameOf('a')])
  workerDirectory.leave()
  for (const parent of ['locks', 'work', 'processes']) expect(readdirSync(join(folder, parent)), parent).toEqual([])
})

test('a process that cannot look whether it is alone keeps what it knew', () => {
  const workerDirectory = openWorkerDirectory('a')
  expect(workerDirectory.isAlone()).toBe(true)
  renameSync(join(folder, 'locks'), join(folder, 'elsewhere'))
  expect(workerDirectory.isAlone()).toBe(true)
  renameSync(join(folder, 'elsewhere'), join(folder, 'locks'))
  const other = openWorkerDirectory('b')
  expect(workerDirectory.isAlone()).toBe(false)
  other.leave()
  workerDirectory.leave()
})

test('a worker directory that was never opened leaves nothing', () => {
  createWorkerDirectory(layOut(), nameOf('a')).leave()
  expect(readdirSync(folder)).toEqual([])
})

test('neighbours that live are not dead, whether in this process or in another', async () => {
  const here = openWorkerDirectory('a')
  const there = await spawnWorker('b')
  const own = openWorkerDirectory('c')
  for (let look = 0; look < 3; look++) {
    const dead = own.findDead()
    expect(dead.names).toEqual([])
    dead.clear()
  }
  expect(readdirSync(join(folder, 'work')).toSorted()).toEqual(['a', 'b', 'c'].map(nameOf))
  await there.kill()
  expect(own.findDead().names).toEqual([nameOf('b')])
  here.leave()
  own.leave()
})

test('the leases of a process that was killed end before its directory is cleared, and one successor does that', async () => {
  const { kill } = await spawnWorker('a')
  writeFileSync(join(folder, 'work', nameOf('a'), 'left'), '')
  await kill()
  const [first, second] = [openWorkerDirectory('b'), openWorkerDirectory('c')]
  let others: readonly string[] | null = null
  const ended: string[] = []
  const store = {
    async endLeases(workers: readonly string[]) {
      ended.push(...workers)
      expect(existsSync(join(folder, 'work', nameOf('a'), 'left'))).toBe(true)
      others = second.findDead().names
      return workers.length
    },
  }
  await succeedDead(first, store, log)
  expect([ended, others]).toEqual([[nameOf('a')], []])
  for (const parent of ['locks', 'work', 'processes'])
    expect(readdirSync(join(folder, parent)).toSorted()).toEqual(['b', 'c'].map(nameOf))
  await succeedDead(second, store, log)
  expect(ended).toEqual([nameOf('a')])
  first.leave()
  second.leave()
})

test('leases that cannot be ended keep no server from starting, and are ended by the next', async () => {
  const { kill } = await spawnWorker('a')
  await kill()
  const [workerDirectory, next] = [openWorkerDirectory('b'), openWorkerDirectory('c')]
  await succeedDead(workerDirectory, { endLeases: () => Promise.reject(new Error('the disk is full')) }, log)
  expect(existsSync(join(folder, 'work', nameOf('a')))).toBe(true)
  const ended: string[] = []
  await succeedDead(next, { endLeases: async (workers) => ended.push(...workers) }, log)
  expect([ended, existsSync(join(folder, 'work', nameOf('a')))]).toEqual([[nameOf('a')], false])
  workerDirectory.leave()
  next.leave()
})

test('a folder that lost its lock is cleared, and other files are left alone', () => {
  for (const name of [nameOf('a'), 'lost+found']) mkdirSync(join(folder, 'work', name), { recursive: true })
  const workerDirectory = openWorkerDirectory('b')
  workerDirectory.findDead().clear()
  expect(readdirSync(join(folder, 'work')).toSorted()).toEqual(['lost+found', nameOf('b')])
  workerDirectory.leave()
})
