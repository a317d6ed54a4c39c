// Reads what takes long, with a connection of its own. long-reads.ts is its other side.
import type { MessagePort } from 'node:worker_threads'
import { openReader } from '../connection.ts'
import { type SentAnswer, toFailure } from './batch.ts'
import type { ReadRequest } from './long-reads.ts'
import { createReads } from './reads.ts'

/** Answers reads until the port closes. @param path the database file */
export function serveReads(port: MessagePort, path: string): void {
  let nowMs = 0
  const db = openReader(path)
  const reads = createReads(db, () => nowMs)

  async function answer(id: number, read: (...args: unknown[]) => unknown, args: readonly unknown[]): Promise<void> {
    let message: SentAnswer
    try {
      message = { id, ok: true, value: await read(...args) }
    } catch (error) {
      message = { id, ok: false, error: toFailure(error) }
    }
    port.postMessage(message)
  }

  port.on('message', ({ id, nowMs: at, name, args }: ReadRequest) => {
    nowMs = at
    void answer(id, reads[name] as (...args: unknown[]) => unknown, args)
  })
  port.on('close', () => db.close())
}
