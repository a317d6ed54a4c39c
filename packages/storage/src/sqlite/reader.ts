// The thread for long reads, with a connection of its own. Started by long-reads.ts.
import { parentPort, workerData } from 'node:worker_threads'
import { toFailure } from './batch.ts'
import { openReader } from './connection.ts'
import type { ReadAnswer, ReadRequest } from './long-reads.ts'
import { createReads } from './reads.ts'

let nowMs = 0
const { path } = workerData as { path: string }
const reads = createReads(openReader(path), () => nowMs)

parentPort?.on('message', ({ id, nowMs: at, name, args }: ReadRequest) => {
  nowMs = at
  void answer(id, reads[name] as (...args: unknown[]) => unknown, args)
})

async function answer(id: number, read: (...args: unknown[]) => unknown, args: readonly unknown[]): Promise<void> {
  let message: ReadAnswer
  try {
    message = { id, ok: true, value: await read(...args) }
  } catch (error) {
    message = { id, ok: false, error: toFailure(error) }
  }
  parentPort?.postMessage(message)
}
