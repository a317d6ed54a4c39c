// The pool: queueing, and that a child that hangs, dies or hoards memory does not affect the others.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { EngineError } from '../src/engine.ts'
import { checkFolderSize } from '../src/folder-size.ts'
import { ProcessPool } from '../src/pool.ts'
import type { ProcessFolders } from '../src/process-folders.ts'
import { takeDescriptors, whyNoLimits } from './descriptors.ts'

interface Done {
  readonly files: readonly string[]
  readonly pid: number
}
type TestPool = ProcessPool<object, Done>

/** Of the latest task. */
let handed: ProcessFolders

/** Requests to the stub. */
const ask = (what: string) => (folders: ProcessFolders) => {
  handed = folders
  return { do: what, folder: folders.output, input: folders.input }
}

const failures = {
  outOfMemory: (limitBytes: number) => new EngineError('out_of_memory', `more than ${limitBytes} bytes`),
  crashed: (how: string, options: ErrorOptions) => new EngineError('crashed', how, true, options),
}

const noLimits = whyNoLimits()

let folder: string
let pool: TestPool

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'process-pool-'))
  pool = createPool(1)
})

afterEach(async () => {
  await pool.close()
  await rm(folder, { recursive: true, force: true })
})

let warnings: object[]
let pools = 0

function createPool(size: number, maxRssBytes = 1e9, spare = 0, idleMs?: number): TestPool {
  const rights = { entry: new URL('./stub-child.ts', import.meta.url), code: [], startsPrograms: true }
  warnings = []
  const logger = { warn: (facts: object) => void warnings.push(facts) }
  return new ProcessPool({
    rights,
    folder: join(folder, `pool-${++pools}`),
    size,
    spare,
    maxRssBytes,
    failures,
    logger,
    ...(idleMs !== undefined && { idleMs }),
  })
}

interface Started {
  readonly result: Promise<Done>
  /** Resolves when the child has taken the job and reports. */
  readonly underway: Promise<void>
  readonly abort: (reason: Error) => void
}

function start(what: string, owner = 'a'): Started {
  const { promise: underway, resolve } = Promise.withResolvers<void>()
  const controller = new AbortController()
  const result = pool.run({
    request: ask(what),
    owner,
    signal: controller.signal,
    onProgress: () => resolve(),
  })
  result.catch(() => {})
  return { result, underway, abort: (reason) => controller.abort(reason) }
}

test('forks nothing until there is a job, and keeps the process for the next one', async () => {
  expect(pool.pids).toEqual([])
  const first = await start('work').result
  const second = await start('work').result
  expect(first.files).toEqual(['output.txt'])
  expect(second.pid).toBe(first.pid)
})

test('queues a task while no process is free', async () => {
  const results = await Promise.all(['work', 'work', 'work'].map((what) => start(what).result))
  expect(new Set(results.map(({ pid }) => pid)).size).toBe(1)
})

test('where no folder can be made each task fails, nothing else does, and the next one works when it can', async () => {
  // In the place of the folder of its processes.
  const place = join(folder, `pool-${pools}`)
  await writeFile(place, '')
  pool.warm()
  for (let task = 0; task < 2; task++)
    await expect(start('work').result).rejects.toMatchObject({ code: 'crashed', retryable: true })
  expect(warnings).toMatchObject([{ err: { code: 'ENOTDIR' } }])
  await rm(place)
  await expect(start('work').result).resolves.toMatchObject({ files: ['output.txt'] })
  expect(pool.pids).toHaveLength(1)
})

test('a process without a task ends, also one that was forked ahead, and the next task gets another', async () => {
  pool = createPool(1, 1e9, 0, 300)
  pool.warm()
  expect(pool.pids).toHaveLength(1)
  await expect.poll(() => pool.pids).toEqual([])
  const { pid: first } = await start('work').result
  await expect.poll(() => pool.pids).toEqual([])
  const { pid: second } = await start('work').result
  expect(second).not.toBe(first)
  // As every end that was not expected is.
  expect(warnings).toEqual([])
})

test('a task that comes while an idle process ends is done by another', async () => {
  const idleMs = 15
  pool = createPool(1, 1e9, 0, idleMs)
  const pids = new Set<number>()
  for (let task = 0; task < 5; task++) {
    const { pid } = await start('work').result
    pids.add(pid)
    // Node calls timers of one length in the order in which they were set: this one comes right after that of the process.
    await new Promise((resolve) => setTimeout(resolve, idleMs))
    // Killed and not yet gone.
    expect(pool.pids).toEqual([pid])
  }
  expect(pids.size).toBe(5)
  expect(warnings).toEqual([])
})

test('uses as many processes as its size allows', async () => {
  pool = createPool(2)
  const hanging = start('hang')
  await hanging.underway
  await start('work').result
  expect(pool.pids).toHaveLength(2)
})

test('one owner may have every process; another gets a spare one at once, and a third must wait', async () => {
  pool = createPool(2, 1e9, 1)
  const [first, second] = [start('hang', 'a'), start('hang', 'a')]
  await Promise.all([first.underway, second.underway])
  const third = start('work', 'a')
  expect(await start('work', 'b').result).toMatchObject({ files: ['output.txt'] })
  // The other task waits until a process is free.
  const kept = start('hang', 'b')
  await kept.underway
  const waiting = start('work', 'c')
  first.abort(new Error('enough'))
  kept.abort(new Error('enough'))
  await Promise.all([waiting.result, third.result])
  second.abort(new Error('enough'))
  await expect.poll(() => pool.pids.length).toBe(2)
  expect(warnings).toEqual([])
})

test('owners take turns: the owner with the fewest processes is next', async () => {
  pool = createPool(2)
  const hanging = start('hang', 'a')
  await hanging.underway
  const order: string[] = []
  const run = (owner: string) => start('work', owner).result.then(() => order.push(owner))
  await Promise.all(['a', 'a', 'a', 'b', 'b'].map(run))
  // The first has the process that was free when it came.
  expect(order).toEqual(['a', 'b', 'b', 'a', 'a'])
  hanging.abort(new Error('enough'))
})

test('passes on the refusal of a process', async () => {
  await expect(start('refuse').result).rejects.toEqual(new EngineError('invalid_media', 'image is empty.'))
})

test('an abort kills a child that hangs, and the next job runs in another', async () => {
  const hanging = start('hang')
  await hanging.underway
  const [pid] = pool.pids
  hanging.abort(new Error('cancelled'))
  await expect(hanging.result).rejects.toThrow('cancelled')
  const next = await start('work').result
  expect(next.pid).not.toBe(pid)
  expect(warnings).toEqual([])
})

test('an abort takes a waiting job out of the queue and leaves the running one alone', async () => {
  const hanging = start('hang')
  await hanging.underway
  const waiting = start('work')
  waiting.abort(new Error('cancelled'))
  await expect(waiting.result).rejects.toThrow('cancelled')
  expect(pool.pids).toHaveLength(1)
})

test('an abort before the start does not start anything', async () => {
  const signal = AbortSignal.abort(new Error('too late'))
  await expect(pool.run({ request: ask('work'), owner: 'a', signal, onProgress: () => {} })).rejects.toThrow('too late')
  expect(pool.pids).toEqual([])
})

test('a child that crashes fails its own run only, as one that may be tried again', async () => {
  const crashing = start('crash')
  const next = start('work')
  await expect(crashing.result).rejects.toMatchObject({
    name: 'EngineError',
    code: 'crashed',
    retryable: true,
    cause: expect.objectContaining({ message: expect.stringContaining('assertion failed') }),
  })
  await expect(next.result).resolves.toMatchObject({ files: ['output.txt'] })
  expect(warnings).toMatchObject([{ err: { code: 'crashed' } }])
})

test('a child that is killed from outside fails its own run only', async () => {
  const hanging = start('hang')
  await hanging.underway
  const next = start('work')
  process.kill(pool.pids[0] as number, 'SIGKILL')
  await expect(hanging.result).rejects.toMatchObject({ code: 'crashed' })
  await expect(next.result).resolves.toMatchObject({ files: ['output.txt'] })
})

test.runIf(process.platform === 'linux')('a child that hoards memory is stopped', async () => {
  pool = createPool(1, 400e6)
  await expect(start('hoard').result).rejects.toMatchObject({
    name: 'EngineError',
    code: 'out_of_memory',
    retryable: false,
  })
  await expect(start('work').result).resolves.toMatchObject({ files: ['output.txt'] })
})

function canBeSignaled(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Whether a program that a child has started is still there; where process 1 buries no one, its name stays. */
async function isProgramAlive(pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return canBeSignaled(pid)
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return state !== '' && !/\) [ZX] /.test(state)
}

const readPid = async (output: string): Promise<number> => Number(await readFile(join(output, 'pid'), 'utf8'))

/** Has a child start a program; `go` lets both go on with what they are there for. */
async function startProgram(what: string) {
  const started = start(`start a program ${what}`)
  await started.underway
  const pid = await readPid(handed.output)
  return { ...started, isAlive: () => isProgramAlive(pid), go: () => writeFile(join(handed.input, 'go'), '') }
}

test.runIf(process.platform === 'linux')('a child whose program hoards memory is stopped with it', async () => {
  pool = createPool(1, 400e6)
  const program = await startProgram('that hoards')
  await program.go()
  await expect(program.result).rejects.toMatchObject({ code: 'out_of_memory' })
  await expect.poll(program.isAlive).toBe(false)
  await expect(start('work').result).resolves.toMatchObject({ files: ['output.txt'] })
})

type StartedProgram = Awaited<ReturnType<typeof startProgram>>

test.each([
  ['is aborted', 'that hangs', async (program: StartedProgram) => program.abort(new Error('cancelled'))],
  ['is killed from outside', 'that hangs', async () => void process.kill(pool.pids[0] as number, 'SIGKILL')],
  ['crashes', 'and crash', (program: StartedProgram) => program.go()],
])('a program that a child has started ends with it when the child %s', async (_how, what, end) => {
  const program = await startProgram(what)
  await end(program)
  await expect(program.result).rejects.toThrow(/./)
  await expect.poll(program.isAlive).toBe(false)
})

test('a program that a child has started ends when the server is killed', async () => {
  const server = spawn(process.execPath, [fileURLToPath(new URL('./stub-server.ts', import.meta.url)), folder], {
    stdio: 'ignore',
  })
  const output = join(folder, '1/out')
  await expect.poll(() => existsSync(join(output, 'pid'))).toBe(true)
  const pid = await readPid(output)
  expect(await isProgramAlive(pid)).toBe(true)
  server.kill('SIGKILL')
  await expect.poll(() => isProgramAlive(pid)).toBe(false)
})

test('a process yields to the server, also where the system weighs sessions and not processes', async () => {
  const { pid } = await start('work').result
  const nice = Math.min(getPriority() + 5, 19)
  await expect.poll(() => getPriority(pid)).toBe(nice)
  const session = `/proc/${pid}/autogroup`
  if (existsSync(session)) await expect.poll(() => readFile(session, 'utf8')).toContain(`nice ${nice}\n`)
})

test('a child that leaks is replaced between two jobs, before any job has to fail for it', async () => {
  pool = createPool(1, 600e6)
  const { pid: first } = await start('leak').result
  const failed: unknown[] = []
  const leakAgain = async () => {
    const done = await start('leak').result.catch((error: unknown) => void failed.push(error))
    return done?.pid ?? first
  }
  await expect.poll(leakAgain).not.toBe(first)
  expect(failed).toEqual([])
})

test.each([
  ['flood', 'it sent more than'],
  ['one endless message', 'it sent more than'],
  ['no message', 'it sent something that is not a message'],
])('a child that sends %s is stopped', async (what, words) => {
  await expect(start(what).result).rejects.toMatchObject({ code: 'crashed', message: expect.stringContaining(words) })
  await expect(start('work').result).resolves.toMatchObject({ files: ['output.txt'] })
})

test.runIf(process.platform === 'linux')(
  'a child that chatters without end leaves the event loop to others',
  async () => {
    const chattering = start('chatter')
    await expect.poll(() => pool.pids).toHaveLength(1)
    const [pid] = pool.pids
    const io = (): string => readFileSync(`/proc/${pid}/io`, 'utf8')
    const bytesWritten = (): number => Number(/^wchar: (\d+)$/m.exec(io())?.[1])
    await expect.poll(bytesWritten).toBeGreaterThan(1_000_000)
    const [before, since] = [bytesWritten(), performance.now()]
    await expect.poll(bytesWritten).toBeGreaterThan(before + 3_000_000)
    // Each chunk of 64 KiB is followed by a pause of 10 ms, on any machine: a child gets rid of no more than that.
    const chunks = (bytesWritten() - before) / 65_536
    expect(performance.now() - since).toBeGreaterThan((chunks - 2) * 9)
    chattering.abort(new Error('enough'))
    await expect(chattering.result).rejects.toThrow('enough')
  },
)

test('a process that has a task for too long is killed; waiting for one does not count', async () => {
  const { signal } = new AbortController()
  const tooLong = new Error('too long')
  const timeout = { ms: 2000, reason: () => tooLong }
  const run = (what: string) => pool.run({ request: ask(what), owner: 'a', signal, onProgress: () => {}, timeout })
  const hanging = run('hang')
  const next = run('work')
  await expect(hanging).rejects.toThrow('too long')
  expect(warnings).toEqual([{ pid: expect.any(Number), err: tooLong }])
  await expect(next).resolves.toMatchObject({ files: ['output.txt'] })
})

test('a process is killed as soon as a check of its task rejects', async () => {
  const { signal } = new AbortController()
  const check = ({ output }: ProcessFolders) => checkFolderSize(output, 20_000_000)
  const filling = pool.run({
    request: ask('fill the disk'),
    owner: 'a',
    signal,
    onProgress: () => {},
    check,
  })
  await expect(filling).rejects.toMatchObject({ code: 'output_too_large' })
  await expect(start('work').result).resolves.toMatchObject({ files: ['output.txt'] })
})

test.skipIf(noLimits !== '')(
  `without file descriptors for a process each task fails for that, and the pool goes on afterwards${noLimits}`,
  async () => {
    {
      await using _ = await takeDescriptors()
      for (const { status, reason } of (await Promise.allSettled([
        start('work').result,
        start('work').result,
      ])) as PromiseRejectedResult[]) {
        expect(status).toBe('rejected')
        expect(reason).toMatchObject({
          code: 'crashed',
          cause: { code: 'EMFILE', syscall: expect.stringMatching(/^spawn/) },
        })
      }
    }
    await expect(start('work').result).resolves.toMatchObject({ files: ['output.txt'] })
  },
)

test('a process that dies before it is asked fails its task', async () => {
  const late = pool.run({
    request: async (folders) => {
      const [pid] = pool.pids
      process.kill(pid as number, 'SIGKILL')
      await expect.poll(() => pool.pids).toEqual([])
      return ask('work')(folders)
    },
    owner: 'a',
    signal: new AbortController().signal,
    onProgress: () => {},
  })
  await expect(late).rejects.toMatchObject({ code: 'crashed' })
})

test('close kills running tasks, fails waiting ones, and refuses new ones', async () => {
  const hanging = start('hang')
  await hanging.underway
  const waiting = start('work')
  await pool.close()
  await expect(hanging.result).rejects.toThrow('closed')
  await expect(waiting.result).rejects.toThrow('closed')
  await expect(start('work').result).rejects.toThrow('closed')
})
