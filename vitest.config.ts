// Two runs of the tests: all of them against one process, and those of the REST interface again through a pure gateway
// in front of a core elsewhere. No test knows in which run it is.
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

// Hundreds of servers, writer threads and render processes are started: code that was compiled once is kept for all of them.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/mediagen/compiled')

export default defineConfig({
  test: {
    // The file is for .ci/run, whose last line says how many tests ran.
    reporters: ['default', ['json', { outputFile: 'node_modules/.cache/mediagen/tests.json' }]],
    pool: 'forks',
    // Servers, writer threads and programs of models run beside each worker.
    maxWorkers: 2,
    testTimeout: 10_000,
    hookTimeout: 10_000,
    // Heartbeats come once a second, and later on a busy machine: the default of one second is no time to wait for one.
    expect: { poll: { timeout: 8000 } },
    projects: [
      { extends: true, test: { name: 'default', include: ['test/**/*.test.ts'] } },
      {
        extends: true,
        test: { name: 'gateway', include: ['test/gateway/**/*.test.ts'], env: { MEDIAGEN_TEST_GATEWAY: '1' } },
      },
    ],
  },
})
