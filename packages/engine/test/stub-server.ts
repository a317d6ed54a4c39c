// A server for tests of the pool: one child with a task that starts a program and does not end.

import { ProcessPool } from '../src/pool.ts'

const [folder = ''] = process.argv.slice(2)
const pool = new ProcessPool<object, unknown>({
  rights: { entry: new URL('./stub-child.ts', import.meta.url), code: [], startsPrograms: true },
  folder,
  size: 1,
  maxRssBytes: 1e9,
  failures: { outOfMemory: () => new Error('memory') as never, crashed: () => new Error('crashed') as never },
  logger: null,
})
await pool.run({
  request: ({ input, output }) => ({ do: 'start a program that hangs', folder: output, input }),
  owner: 'a',
  signal: new AbortController().signal,
  onProgress: () => {},
})
