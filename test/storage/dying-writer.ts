// A writer thread that says it is ready and dies at the first command. Started by sqlite.test.ts.
import { parentPort } from 'node:worker_threads'

// The first message names the database.
parentPort?.once('message', () => {
  parentPort?.on('message', () => {
    throw new Error('out of order')
  })
  parentPort?.postMessage({ kind: 'ready' })
})
