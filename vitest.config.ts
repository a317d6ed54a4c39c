// The tests that one runs before every commit, and those that take minutes: *.long.test.ts, by `npm run test:long`. The
// tests of the REST interface run against one process and again through a pure gateway in front of a core elsewhere; no
// test knows in which run it is.
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// Hundreds of servers, writer threads and render processes are started: code that was compiled once is kept for all of them.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/mediagen/compile')

// The longest begin first, so that no worker is left with one of them when the other has nothing more to do. By itself
// Vitest begins with the largest files, as long as it has not seen them run.
const longest = [
  'crash/kill-server.long',
  'simulation/simulation.long',
  'runner/lost-worker',
  'cli/operator',
  'faults/fsync.long',
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

/** The service's tests, and those of its packages. */
const tests = ['test/**/*.test.ts', 'packages/*/test/**/*.test.ts']

// What is tried at random is the same in every `npm test`, and differs in each `npm run test:long`.
const fixedSeed = '20261122'
const variedSeed = String(Date.now() % 2 ** 31)
const seedOf = (usual: string) => ({ MEDIAGEN_TEST_SEED: process.env['MEDIAGEN_TEST_SEED'] ?? usual })

// What happens in the core alone, whichever way a start came to it, is not tried a second time through a gateway.
const inTheCore = ['usage-billing', 'picture-to-video', 'retention', 'slow-bodies']

export default defineConfig({
  test: {
    setupFiles: [join(import.meta.dirname, 'test/setup.ts')],
    globalSetup: [join(import.meta.dirname, 'test/test-store.ts')],
    env: seedOf(fixedSeed),
    // The file is for .ci/run, whose last line says how many tests ran.
    reporters: [
      'default',
      ['json', { outputFile: process.env['MEDIAGEN_TEST_REPORT'] ?? 'node_modules/.cache/mediagen/tests.json' }],
    ],
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
    // For two cores: half of their time, tests wait for servers, programs and clocks.
    maxWorkers: 4,
    // A time-out is a safety net, not an assertion: one core beside a busy loop is to be enough for every test.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 }, requireAssertions: true },
    // Half of a run went into loading the same modules for each file again. Tests change no global state, so that files can share a process.
    isolate: false,
    projects: [
      { extends: true, test: { name: 'default', include: tests, exclude: ['**/*.long.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'long',
          include: tests.map((glob) => glob.replace('.test.ts', '.long.test.ts')),
          env: { ...seedOf(variedSeed), MEDIAGEN_TEST_LONG: '1' },
          testTimeout: 3_600_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'gateway',
          include: ['test/gateway/**/*.test.ts'],
          exclude: ['**/*.long.test.ts', ...inTheCore.map((name) => `test/gateway/${name}.test.ts`)],
          env: { ...seedOf(fixedSeed), MEDIAGEN_TEST_GATEWAY: '1' },
        },
      },
    ],
  },
})
