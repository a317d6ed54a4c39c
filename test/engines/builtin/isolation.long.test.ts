// A render process that leaks, hangs, crashes, is killed, floods or fills the disk fails the one job that it has, in words and
// free of charge; the server answers all the while, and the next job runs.
import { readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createBuiltinEngine } from '@mediagen/builtin/engine.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findEntry } from '../../../packages/builtin/catalog/entries.ts'
import { startTestApp, type TestApp, withBuiltin } from '../../test-app.ts'

const model = 'test/stub/text-to-image'
let app: TestApp
let hurried: TestApp
let folder: string
let catalog: string

function start(maxChildMs: number): Promise<TestApp> {
  const engine = createBuiltinEngine({
    entry: new URL('./misbehaving-child.ts', import.meta.url),
    poolSize: 1,
    maxChildRssBytes: 400_000_000,
    maxChildMs,
    maxOutputBytes: 30_000_000,
  })
  return startTestApp(
    { MEDIAGEN_CATALOG: join(import.meta.dirname, 'models.yaml') },
    { ...withBuiltin, engines: [engine] },
  )
}

beforeAll(async () => {
  app = await start(600_000)
  hurried = await start(2000)
  folder = await mkdtemp(join(tmpdir(), 'mediagen-isolation-'))
  catalog = await writeCatalog(folder)
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await hurried[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

test.each([
  ['leak', 'out_of_memory', /more than 400 MB of memory/, false],
  ['hang', 'timeout', /longer than 2 s/, true],
  ['crash', 'renderer_crashed', /ended unexpectedly \(exit status SIG(ABRT|TRAP)\)/, true],
  ['leave', 'renderer_crashed', /ended unexpectedly \(exit status 0\)/, true],
  ['kill', 'renderer_crashed', /ended unexpectedly \(exit status SIGKILL\)/, true],
  ['flood', 'renderer_crashed', /it sent more than \d+ bytes/, true],
  ['fill', 'output_too_large', /wrote more than 30000000 bytes/, false],
  ['throw', 'engine_crashed', /^The engine stopped unexpectedly\.$/, true],
])('%s', async (what, code, message, retryable) => {
  const server = code === 'timeout' ? hurried : app
  const [{ body: failed }, { body: next }, readiness] = await Promise.all([
    server.generate(model, { do: what }),
    server.generate(model, { do: 'work' }),
    server.send('/readyz', { key: null }),
  ])
  expect(failed).toMatchObject({
    status: 'failed',
    error: { code, message: expect.stringMatching(message), retryable },
    billing: { quoted: 7, charged: 0, released: 7 },
    outputs: [],
  })
  expect(next).toMatchObject({ status: 'succeeded', credits: 7 })
  expect(readiness.status).toBe(200)
})

test('renders of one account that take long leave a process to another account', async () => {
  const entry = new URL('./misbehaving-child.ts', import.meta.url)
  const engine = createBuiltinEngine({ entry, poolSize: 2, sparePoolSize: 1, maxChildMs: 600_000 })
  const settings = { MEDIAGEN_CATALOG: join(import.meta.dirname, 'models.yaml') }
  await using shared = await startTestApp(settings, { ...withBuiltin, engines: [engine] })
  const other = await shared.createAccount(100)
  const hanging = []
  for (let i = 0; i < 8; i++) hanging.push(await shared.generate(model, { do: 'hang' }, { wait: false }))
  const statuses = async () => {
    const { body } = await shared.send('/v1/jobs')
    return body.data.filter(({ status, progress }: any) => status === 'running' && progress > 0).length
  }
  // Both processes, by jobs that hold as many places as there are.
  await expect.poll(statuses).toBe(2)
  const { body: job } = await shared.generate(model, { do: 'work' }, { account: other })
  expect(job.status).toBe('succeeded')
  expect((await shared.send(`/v1/jobs/${hanging[0]?.body.job_id}`)).body.status).toBe('running')
})

const art = { model: 'test/art/text-to-image', input: { prompt: 'x', width: 2048, height: 2048 } }
const film = { model: 'test/film/text-to-video', input: { prompt: 'x', duration: 30 } }

/** A catalog of two models that ship, whose runs are not tried again. */
async function writeCatalog(folder: string): Promise<string> {
  const models = [
    [art.model, 'builtin/image/art/text-to-image'] as const,
    [film.model, 'builtin/video/motion/text-to-video'] as const,
  ].map(([id, shipped]) => {
    const { engine, ...entry } = findEntry(shipped)
    return {
      ...entry,
      id,
      product: undefined,
      mode: undefined,
      samples: undefined,
      engine: { ...engine, max_attempts: 1 },
    }
  })
  const file = join(folder, 'once.json')
  await writeFile(file, JSON.stringify({ models }))
  return file
}

/** An ffmpeg that has every encoder, and then does nothing but what the script says, whatever becomes of its input. */
async function writeFfmpeg(folder: string, script: string): Promise<string> {
  const path = join(folder, 'ffmpeg')
  const program = join(folder, 'ffmpeg.cjs')
  const encoders = ['libx264', 'aac', 'libvpx', 'libopus'].map((name) => ` V..... ${name} `).join('\n')
  const lines = [
    `if (process.argv.includes('-encoders')) { console.log(${JSON.stringify(encoders)}); process.exit() }`,
    "for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGPIPE']) process.on(signal, () => {})",
    `require('node:fs').writeFileSync(${JSON.stringify(join(folder, 'pid'))}, String(process.pid))`,
    'setInterval(() => {}, 1000)',
    script,
  ]
  await writeFile(program, lines.join('\n'))
  // Of a real one Node knows nothing: it hands down its permissions to programs that are Node, too.
  await writeFile(path, `#!/bin/sh\nNODE_OPTIONS= exec ${process.execPath} ${program} "$@"\n`, { mode: 0o755 })
  return path
}

/** A folder for the files of a program that may run as another user. */
async function makeOpenFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mediagen-ffmpeg-'))
  await chmod(folder, 0o777)
  return folder
}

/** Programs whose command names a folder; where process 1 buries no one, the dead have no command. */
function listPrograms(folder: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder)
    } catch {
      return false
    }
  })
}

test.runIf(process.platform === 'linux')(
  'MEDIAGEN_CHILD_OPEN_FILES and MEDIAGEN_CHILD_TASKS are limits of the kernel for whatever an FFMPEG_PATH starts',
  async () => {
    const folder = await makeOpenFolder()
    const copy = `writeFileSync(${JSON.stringify(join(folder, 'limits'))}, readFileSync('/proc/self/limits'))`
    const tell = `const { readFileSync, writeFileSync } = require('node:fs'); ${copy}; process.exit(1)`
    const settings = { MEDIAGEN_CHILD_OPEN_FILES: '77', MEDIAGEN_CHILD_TASKS: '123' }
    try {
      await using bounded = await startTestApp(
        {
          ...settings,
          MEDIAGEN_CATALOG: catalog,
          FFMPEG_PATH: await writeFfmpeg(folder, tell),
        },
        withBuiltin,
      )
      expect((await bounded.generate(film.model, film.input)).body).toMatchObject({ status: 'failed' })
      const limits = await readFile(join(folder, 'limits'), 'utf8')
      expect(limits).toMatch(/^Max open files +77 +77 /m)
      const tasks = Number(/^Max processes +(\d+) /m.exec(limits)?.[1])
      // Where there are no user namespaces, the kernel counts by user: then all processes together have as many as each may have.
      const processes = 2 * availableParallelism() + 2
      if (process.getuid?.() === 0) expect([123, 123 * processes]).toContain(tasks)
    } finally {
      await rm(folder, { recursive: true })
    }
  },
)

test.runIf(process.platform === 'linux').each([
  // Long enough that it is started at all on a busy machine.
  ['hangs', '', { MEDIAGEN_CHILD_SECONDS: '30' }, 'timeout'],
  [
    'hoards memory',
    'const hoard = []; setInterval(() => hoard.length < 60 && hoard.push(Buffer.alloc(10_000_000, 1)), 5)',
    { MEDIAGEN_CHILD_MEMORY_BYTES: '500000000' },
    'out_of_memory',
  ],
])('an FFMPEG_PATH that %s fails its job, and does not live on', async (_what, script, settings, code) => {
  const folder = await makeOpenFolder()
  try {
    await using bounded = await startTestApp(
      {
        ...settings,
        MEDIAGEN_CATALOG: catalog,
        FFMPEG_PATH: await writeFfmpeg(folder, script),
      },
      withBuiltin,
    )
    const { body: job } = await bounded.generate(film.model, film.input)
    expect(job).toMatchObject({ status: 'failed', error: { code }, billing: { charged: 0 } })
    // It was there.
    await readFile(join(folder, 'pid'), 'utf8')
    await expect.poll(() => listPrograms(folder)).toEqual([])
  } finally {
    await rm(folder, { recursive: true })
  }
})

test.each([
  ['MEDIAGEN_CHILD_SECONDS', '1', film, 'timeout'],
  ['MEDIAGEN_CHILD_MEMORY_BYTES', '134217728', art, 'out_of_memory'],
  ['MEDIAGEN_MAX_OUTPUT_BYTES', '20000', art, 'output_too_large'],
])('%s bounds the built-in models', async (name, value, { model: id, input }, code) => {
  await using bounded = await startTestApp({ MEDIAGEN_CATALOG: catalog, [name]: value }, withBuiltin)
  const { body: job } = await bounded.generate(id, input)
  expect(job).toMatchObject({ status: 'failed', error: { code }, billing: { charged: 0 } })
})
