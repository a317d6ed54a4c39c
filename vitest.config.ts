// The tests that one runs before every commit, and those that take minutes: *.long.test.ts, by `npm run test:long`. The
// tests of the REST interface run against one process, and those in which it can matter again through a pure gateway in front of
// a core elsewhere; no test knows in which run it is.
import { accessSync, constants, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { skippedReporter } from './test/skipped-reporter.ts'

// Hundreds of servers, writer threads and render processes are started: code that was compiled once is kept for all of them.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/mediagen/compile')

// Files that go away with their tests are kept in memory where there is room: no test waits for a disk to flush.
const memory = '/dev/shm'
const inMemory = process.env['TMPDIR'] === undefined && hasRoom(memory) ? { TMPDIR: memory } : {}

function hasRoom(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > 4e9
  } catch {
    return false
  }
}

// The longest begin first, so that no worker is left with one of them when the other has nothing more to do. By itself
// Vitest begins with the largest files, as long as it has not seen them run.
const longest = [
  'crash/kill-remote.long',
  'crash/kill-paid.long',
  'fleet/postgres.long',
  'crash/kill-server.long',
  'simulation/paid.long',
  'storage/pgbouncer.long',
  'fleet/store-of-files.long',
  'simulation/simulation.long',
  'fuzz/doors.long',
  'engines/bad-answers.long',
  'faults/fsync.long',
  'cli/operator',
].map((name) => join(import.meta.dirname, `test/${name}.test.ts`))
longest.push(join(import.meta.dirname, 'packages/builtin/test/film.long.test.ts'))

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return longest
      .flatMap((file) => sorted.filter(({ moduleId }) => moduleId === file))
      .concat(sorted.filter(({ moduleId }) => !longest.includes(moduleId)))
  }
}

// The built-in models have a command of their own.
const builtin = 'packages/builtin/**'
/** The service's tests, and those of its packages. */
const tests = ['test/**/*.test.ts', 'packages/*/test/**/*.test.ts']

// What is tried at random is the same in every `npm test`, and differs in each `npm run test:long`.
const fixedSeed = '20261122'
const variedSeed = String(Date.now() % 2 ** 31)
const seedOf = (usual: string) => ({ MEDIAGEN_TEST_SEED: process.env['MEDIAGEN_TEST_SEED'] ?? usual })

// On PostgreSQL run those whose promises its store could break: the ledger, the life of a job, kills, the simulation, webhooks.
// The contract of stores runs on both in the other projects, and so do the fleets of processes.
const onPostgres = [
  'test/{crash,faults,feed,runner,services,simulation,webhooks}/**/*.test.ts',
  'test/storage/{ledger-property,verify}*.test.ts',
  'test/gateway/{deletion,files,generate,idempotency,job-events,job-inputs,jobs,keys,kept-jobs,quote-restart,readiness,retention,shared-rates,wait,wallet,webhooks}.test.ts',
  'test/rpc/{admin,admin-console,generation,lost-keys,watch,webhooks}.test.ts',
  'test/cli/{audit,conformance,jobs-show,operator,serve,webhooks}.test.ts',
]
const notOnPostgres = [
  // About the disk of SQLite, or about no store.
  'test/faults/{disk,fsync.long}.test.ts',
  'test/engines/remote-simulation.long.test.ts',
  'test/engines/builtin/isolation.long.test.ts',
  // They choose their stores themselves.
  'test/storage/!(ledger-property*|verify*)',
  // Their long versions run there at the same time.
  'test/crash/kill-{paid,remote,server,upload}.test.ts',
  'test/simulation/{paid,simulation}.test.ts',
]
const postgresServer = { globalSetup: [join(import.meta.dirname, 'test/test-store.ts')] }
// So many in a run: what is tried at random again and again takes several times as long there as in SQLite.
const bounded = { MEDIAGEN_TEST_KILLS: '12', MEDIAGEN_TEST_HISTORIES: '20' }

// The tests in which it can matter that a gateway of its own is between the client and the core.
const throughGateway =
  'again answer-headers assets caller-urls deadlines errors files generate idempotency job-events key-first labels mcp open-watches readiness refused-uploads request-ids run shutdown slow-bodies wait'
    .split(' ')
    .map((name) => `test/gateway/${name}.test.ts`)
    .concat('test/cli/conformance.test.ts')

// What is measured on a server under attack is measured when all others have ended.
const timed = ['test/attacks/**/*.long.test.ts', 'test/rpc/hostile-{calls,frames}.long.test.ts']

const long = { env: { ...seedOf(variedSeed), MEDIAGEN_TEST_LONG: '1' }, testTimeout: 3_600_000 }
const postgresLong = {
  ...postgresServer,
  env: { ...bounded, ...seedOf(variedSeed), MEDIAGEN_TEST_STORE: 'postgres' },
  testTimeout: 3_600_000,
}

export default defineConfig({
  test: {
    setupFiles: [join(import.meta.dirname, 'test/setup.ts')],
    env: seedOf(fixedSeed),
    // The file is for .ci/run, whose last line says how many tests ran.
    reporters: [
      'default',
      skippedReporter,
      ['json', { outputFile: process.env['MEDIAGEN_TEST_REPORT'] ?? 'node_modules/.cache/mediagen/tests.json' }],
    ],
    pool: 'forks',
    // Tests of what is kept in memory collect the garbage first.
    execArgv: ['--expose-gc'],
    sequence: { sequencer: LongestFirst },
    // More than cores: half of their time, tests wait for servers, programs and clocks.
    maxWorkers: Math.ceil(availableParallelism() * 2.5),
    // A time-out is a safety net, not an assertion: one core beside a busy loop is to be enough for every test.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 }, requireAssertions: true },
    // Half of a run went into loading the same modules for each file again. Tests change no global state, so that files can share a process.
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'default',
          include: tests,
          exclude: ['**/*.long.test.ts', builtin],
          env: { ...seedOf(fixedSeed), ...inMemory },
        },
      },
      {
        extends: true,
        test: {
          name: 'builtin',
          include: ['packages/builtin/test/**/*.test.ts'],
          exclude: ['**/*.long.test.ts'],
          env: { ...seedOf(fixedSeed), ...inMemory },
        },
      },
      {
        extends: true,
        test: {
          ...long,
          env: { ...long.env, ...inMemory },
          name: 'long',
          include: tests.map((glob) => glob.replace('.test.ts', '.long.test.ts')),
          exclude: timed,
        },
      },
      { extends: true, test: { ...long, sequence: { groupOrder: 1 }, name: 'long-timed', include: timed } },
      {
        extends: true,
        test: {
          name: 'gateway',
          include: throughGateway,
          env: { ...seedOf(fixedSeed), ...inMemory, MEDIAGEN_TEST_GATEWAY: '1' },
        },
      },
      {
        extends: true,
        test: {
          ...postgresServer,
          name: 'postgres',
          include: onPostgres,
          exclude: ['**/*.long.test.ts', ...notOnPostgres],
          env: { ...seedOf(fixedSeed), MEDIAGEN_TEST_STORE: 'postgres' },
        },
      },
      {
        extends: true,
        test: {
          ...postgresLong,
          name: 'postgres-long',
          include: ['crash', 'engines', 'faults', 'runner', 'simulation', 'storage', 'webhooks'].map(
            (folder) => `test/${folder}/**/*.long.test.ts`,
          ),
          exclude: notOnPostgres,
        },
      },
    ],
  },
})
