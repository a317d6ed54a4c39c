// Node's permissions of a forked process: it can only reach its own folders and read the code that it runs.
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ProcessRights } from '../src/permissions.ts'
import { ProcessPool, type Task } from '../src/pool.ts'
import { handOver } from '../src/process-folders.ts'
import type { Attempt } from './intruder.ts'

type Outcome = { answer?: any; code?: string; message?: string }
type IntruderTask = Partial<Task<object, Outcome>>

let base: string
let secret: string
let pool: ProcessPool<object, Outcome>

function createPool(rights: Partial<ProcessRights> = {}) {
  const failures = {
    outOfMemory: () => new Error('memory') as never,
    crashed: (how: string) => new Error(how) as never,
  }
  const entry = new URL('./intruder.ts', import.meta.url)
  const folder = join(base, 'pool')
  return new ProcessPool<object, Outcome>({
    rights: { entry, code: [], ...rights },
    folder,
    size: 1,
    maxRssBytes: 1e9,
    failures,
    logger: null,
  })
}

const attempt = (what: Attempt['do'], fields: Partial<Attempt> = {}, task: IntruderTask = {}): Promise<Outcome> =>
  pool.run({
    request: ({ output }) => ({ do: what, folder: output, ...fields }),
    owner: 'a',
    signal: new AbortController().signal,
    onProgress: () => {},
    ...task,
  })

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'mediagen-permissions-'))
  secret = join(base, 'mediagen.db')
  await writeFile(secret, 'secret')
  pool = createPool()
})
afterEach(async () => {
  await pool.close()
  await rm(base, { recursive: true, force: true })
})

const denied = { code: 'ERR_ACCESS_DENIED' }

test('a process cannot read, write or link to files of others', async () => {
  expect(await attempt('read', { path: secret })).toMatchObject(denied)
  expect(await attempt('read', { path: '/etc/passwd' })).toMatchObject(denied)
  expect(await attempt('write', { path: join(base, 'other') })).toMatchObject(denied)
  expect(await attempt('link', { path: secret })).toMatchObject(denied)
  expect(await attempt('symlink', { path: secret })).toMatchObject(denied)
  // It can read the code that it runs, but not change it.
  expect(await attempt('write', { path: join(import.meta.dirname, 'other') })).toMatchObject(denied)
  expect(existsSync(join(base, 'other'))).toBe(false)
})

test('a process can start programs only if it has that right', async () => {
  expect(await attempt('status of a program')).toMatchObject(denied)
  await pool.close()
  pool = createPool({ startsPrograms: true })
  expect((await attempt('status of a program')).answer).toContain('Name:')
})

test('a process gets nothing from the environment of the server', async () => {
  const { answer } = await attempt('environment')
  expect(Object.keys(answer).filter((name) => !['TMPDIR', 'NODE_COMPILE_CACHE'].includes(name))).toEqual([])
})

test('input files are there for one task only, and leftovers are removed after it', async () => {
  let folders = { input: '', output: '' }
  const first = await attempt(
    'work',
    {},
    {
      async request(own) {
        folders = own
        return { do: 'read', path: await handOver(secret, own.input, 'file') }
      },
    },
  )
  expect(first).toEqual({ answer: 'secret' })
  expect(await attempt('work')).toEqual({})
  for (const folder of [folders.input, folders.output]) expect(await readdir(folder)).toEqual([])
})

test('a process whose folder cannot be emptied is replaced', async () => {
  let output = ''
  await attempt(
    'work',
    {},
    {
      async collect(result, folders) {
        output = folders.output
        await mkdir(join(output, 'folder'))
        return result
      },
    },
  )
  const [first] = pool.pids
  expect(await attempt('work')).toEqual({})
  expect(pool.pids).not.toContain(first)
  await expect.poll(() => existsSync(output)).toBe(false)
})
