// The disk answers fsync with an I/O error, the log grows and the server is killed: nothing that was acknowledged is lost, nothing is
// there twice.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type Intent,
  breakDisk,
  countJobs,
  expectEachOnce,
  mendDisk,
  open,
  serve,
  start,
  unbuilt,
  wasAcknowledged,
} from './fsync.ts'

test.skipIf(unbuilt !== '')(
  `a server that is killed while commits cannot be flushed comes back with all that was acknowledged, and nothing twice${unbuilt}`,
  async () => {
    const { line, key } = await open()
    await using _line = line
    const intents: Intent[] = []
    for (const percent of [100, 50, 10]) {
      const server = await serve(line)
      intents.push(...(await start(server.httpUrl, key, 12)))
      breakDisk('.db-wal', percent)
      intents.push(...(await start(server.httpUrl, key, 12)))
      await server.stop('SIGKILL')
      mendDisk()
    }
    const server = await serve(line)
    const acknowledged = intents.filter(wasAcknowledged).length
    expect(acknowledged).toBeGreaterThanOrEqual(36)
    expect(acknowledged).toBeLessThanOrEqual(60)
    // What the log held is flushed into the file before anything is built on it.
    expect(countJobs(join(line.dataDir, 'mediagen.db'))).toBeGreaterThanOrEqual(acknowledged)
    await expectEachOnce(line, server.httpUrl, key, intents)
  },
)

test.skipIf(unbuilt !== '')(
  `a log that cannot be folded into a file that cannot be flushed holds everything meanwhile${unbuilt}`,
  async () => {
    const { line, key } = await open()
    await using _line = line
    const server = await serve(line)
    // Only the file itself: its log and its folder can be flushed.
    breakDisk('/mediagen.db$')
    // Twice what the log holds before it is folded.
    const intents = await start(server.httpUrl, key, 40, 900_000)
    expect(intents.every(wasAcknowledged)).toBe(true)
    expect(statSync(join(line.dataDir, 'mediagen.db-wal')).size).toBeGreaterThan(1.5 * 4000 * 4096)
    await server.stop('SIGKILL')
    mendDisk()
    await expectEachOnce(line, (await serve(line)).httpUrl, key, intents)
  },
)
