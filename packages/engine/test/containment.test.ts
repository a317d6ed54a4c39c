// What the system refuses to a forked process and its native code: tried by a program other than Node, which Node's permissions do
// not hold. Tests of what this machine does not support are skipped by name.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Containment, type ContainmentOptions, findContainment, uncontained } from '../src/containment.ts'
import { findChildren } from '../src/memory.ts'
import { ProcessPool } from '../src/pool.ts'
import type { Attempt } from './intruder.ts'

vi.setConfig({ testTimeout: 30_000 })

type Outcome = { answer?: any; code?: string; message?: string }

const entry = new URL('./intruder.ts', import.meta.url)
const nobody = { uid: 65534, gid: 65534 }
const limits = { openFiles: 100, tasks: 64, fileBytes: 5_000_000 }

/** A data directory with a database in it, and a folder for processes. */
async function makeDataDir() {
  const base = await mkdtemp(join(tmpdir(), 'mediagen-containment-'))
  await chmod(base, 0o711)
  const folder = join(base, 'processes')
  await mkdir(folder)
  await writeFile(join(base, 'mediagen.db'), 'secret', { mode: 0o600 })
  return { base, folder }
}

const { base, folder } = await makeDataDir()
const options: ContainmentOptions = {
  user: nobody,
  hidden: base,
  folder,
  readable: [fileURLToPath(entry)],
  processes: 4,
}
const containment = await findContainment(options)
const can = {
  refuseDatabase: containment.hides || containment.user !== null,
  refuseNetwork: containment.isNested,
  limit: !containment.missing.some((words) => words.startsWith('limits')),
  countTasks: containment.hides || containment.user !== null,
  keepPrivileges: !containment.missing.some((words) => words.startsWith('no_new_privs')),
}
const isRoot = process.getuid?.() === 0
if (!isRoot) console.warn('tests of another user are skipped: they need root')
for (const words of containment.missing) console.warn(`this machine cannot refuse forked processes: ${words}`)

let pool: ProcessPool<object, Outcome>
let warnings: { err: Error }[]
let pools = 0

function createPool(how: Containment, within = folder): ProcessPool<object, Outcome> {
  warnings = []
  return new ProcessPool<object, Outcome>({
    rights: { entry, code: [], startsPrograms: true },
    containment: async () => how,
    limits,
    folder: join(within, `pool-${++pools}`),
    size: 1,
    maxRssBytes: 1e9,
    failures: {
      outOfMemory: () => new Error('memory') as never,
      crashed: (end, options) => new Error(end, options) as never,
    },
    logger: { warn: (facts) => void warnings.push(facts as { err: Error }) },
  })
}

const attempt = (what: Attempt['do'], fields: Partial<Attempt> = {}, by = pool): Promise<Outcome> =>
  by.run({
    request: ({ output }) => ({ do: what, folder: output, ...fields }),
    owner: 'a',
    signal: new AbortController().signal,
    onProgress: () => {},
  })

beforeAll(() => {
  pool = createPool(containment)
})
afterAll(async () => {
  await pool.close()
  await rm(base, { recursive: true, force: true })
})
beforeEach(() => void warnings.splice(0))

/** Checks that a process works as usual. */
const works = async (): Promise<void> => expect(await attempt('work')).toEqual({})

test.runIf(can.refuseDatabase)('a process can neither read the database nor write beside it', async () => {
  const { answer } = await attempt('read by a program', { path: join(base, 'mediagen.db') })
  expect(answer).toMatch(/No such file|Permission denied/)
  const written = await attempt('write by a program', { path: join(base, 'other') })
  expect(written.answer).toMatch(/Read-only|Permission denied/)
  expect(existsSync(join(base, 'other'))).toBe(false)
  await works()
})

test.runIf(containment.hides)('a process cannot reach the data directory by other paths, either', async () => {
  expect((await attempt('read by a program', { path: `/proc/${process.pid}/root${base}/mediagen.db` })).answer).toMatch(
    /Permission denied/,
  )
  expect((await attempt('read by a program', { path: `/proc/${process.pid}/environ` })).answer).toMatch(/denied/)
})

test.runIf(can.refuseNetwork)('a process has no network, not even to this machine', async () => {
  const server = createServer(() => expect.unreachable('a connection')).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  expect(await attempt('connect', { count: port })).toMatchObject({ code: 'ENETUNREACH' })
  server.close()
  await works()
})

test.runIf(can.limit)('MEDIAGEN_CHILD_OPEN_FILES: the kernel refuses to open more files', async () => {
  expect(await attempt('open files', { count: 10_000 })).toMatchObject({ code: 'EMFILE' })
  expect((await attempt('open files', { count: 50 })).answer).toBe(50)
})

test.runIf(can.limit)('the kernel refuses to write larger files', async () => {
  expect(await attempt('write much', { count: 6 })).toMatchObject({ code: 'EFBIG' })
  expect((await attempt('write much', { count: 4 })).answer).toBe('written')
})

test.runIf(can.limit && can.countTasks)(
  'MEDIAGEN_CHILD_TASKS: a process that starts programs without end is refused them, and what it started ends with it',
  async () => {
    const { answer } = await attempt('start programs', { count: 300 })
    expect(answer).toMatchObject({ code: 'EAGAIN' })
    expect(answer.started).toBeLessThan(limits.tasks)
    await works()
    expect(warnings.map(({ err }) => err.message)).toEqual(['Replaced: it left programs behind'])
  },
)

test.runIf(can.refuseNetwork)('a program in a session of its own ends with its process', async () => {
  const [before] = pool.pids
  await attempt('leave a program', { path: join(folder, 'mark') })
  await works()
  expect(pool.pids).not.toContain(before)
  expect(warnings.map(({ err }) => err.message)).toEqual(['Replaced: it left programs behind'])
  await expect.poll(() => listPrograms('sleep 61')).toEqual([])
})

function listPrograms(command: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() === command
    } catch {
      return false
    }
  })
}

test.runIf(can.keepPrivileges)('a process has no capability, can gain none, and leaves no core file', async () => {
  const { answer } = await attempt('status of a program')
  expect(answer).toMatch(/^NoNewPrivs:\s+1$/m)
  for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb']) expect(answer).toMatch(new RegExp(`^${set}:\\s+0+$`, 'm'))
  if (!can.limit) return
  expect(answer).toMatch(/^Max core file size +0 +0 /m)
  // What may be resident, and what is reserved beyond it.
  expect(answer).toMatch(new RegExp(`^Max data size +${1e9 + 4 * 1024 ** 3} `, 'm'))
})

test.runIf(process.platform === 'linux')(
  'the memory of a contained process is watched, and its priority is lower than that of the server',
  async () => {
    await works()
    const [top = 0] = pool.pids
    const worker = containment.isNested ? findChildren(findChildren(top)[0] ?? 0)[0] : top
    const nice = Math.min(getPriority() + 5, 19)
    await expect.poll(() => getPriority(worker)).toBe(nice)
    await expect(attempt('hoard')).rejects.toThrow('memory')
    await works()
  },
)

test('the signal that ended a program is named, even behind its launcher', async () => {
  await expect(attempt('end by a signal')).rejects.toThrow('exit status SIGKILL')
  await works()
})

describe('where a machine can do less', () => {
  test.runIf(isRoot)('a folder that cannot be reached is named, and processes run as the server', async () => {
    const closed = join(base, 'closed')
    await mkdir(closed, { mode: 0o700 })
    const found = await findContainment({
      ...options,
      hidden: join(base, 'missing'),
      folder: join(closed, 'processes'),
    })
    expect(found.user).toBeNull()
    expect(found.missing.join()).toMatch(/the user with id 65534 \(cannot write/)
    expect(found.missing.join()).toMatch(/a database that is out of reach/)
  })

  test.runIf(containment.hides)(
    'a data directory that lets nobody pass is hidden all the same, whatever the umask is',
    async () => {
      const closed = join(base, 'passed')
      const umask = process.umask(0o077)
      const processes = join(closed, 'processes')
      try {
        await mkdir(processes, { recursive: true })
        const found = await findContainment({ ...options, hidden: closed, folder: processes })
        expect(found).toMatchObject({ user: containment.user, hides: true, missing: [] })
        const closedPool = createPool(found, processes)
        expect(await attempt('work', {}, closedPool)).toEqual({})
        expect((await attempt('status of a program', {}, closedPool)).answer).toContain('NoNewPrivs')
        await closedPool.close()
      } finally {
        process.umask(umask)
      }
    },
  )

  test.each(['user', 'root', 'none'] as const)('namespaces: %s', async (namespaces) => {
    const found = await findContainment({ ...options, namespaces: [namespaces, 'none'] })
    const plain = createPool(found)
    const run = (what: Attempt['do'], fields: Partial<Attempt> = {}) => attempt(what, fields, plain)
    try {
      expect(await run('work')).toEqual({})
      if (found.user) {
        const { answer } = await run('read by a program', { path: join(base, 'mediagen.db') })
        expect(answer).toMatch(/Permission denied/)
      }
      if (can.keepPrivileges) expect((await run('status of a program')).answer).toMatch(/^CapEff:\s+0+$/m)
      if (can.limit) expect(await run('open files', { count: 10_000 })).toMatchObject({ code: 'EMFILE' })
      await expect(run('end by a signal')).rejects.toThrow('exit status SIGKILL')
    } finally {
      await plain.close()
    }
    expect(found.missing.filter((words) => words.startsWith('namespaces'))).toHaveLength(found.isNested ? 0 : 1)
  })

  test('processes work without containment', async () => {
    const plain = createPool(uncontained)
    try {
      expect(await attempt('work', {}, plain)).toEqual({})
    } finally {
      await plain.close()
    }
  })
})
