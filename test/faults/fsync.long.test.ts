// The disk answers fsync with an I/O error: what was acknowledged stays, what was refused is there once when it is sent again,
// and the server says what is wrong and goes on when the disk does; also when the log grows and the server is killed.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openClient } from '../cli/command-line.ts'
import {
  type Intent,
  breakDisk,
  broken,
  countJobs,
  expectEachOnce,
  expectRefusedInWords,
  mendDisk,
  model,
  open,
  price,
  readReadiness,
  serve,
  start,
  unbuilt,
  wasAcknowledged,
} from './fsync.ts'

test.skipIf(unbuilt !== '')(
  `commits that cannot be flushed are refused, /readyz says so, and the same server goes on when the disk does${unbuilt}`,
  async () => {
    const { line, key } = await open()
    await using _line = line
    const { httpUrl } = await serve(line)
    const before = await start(httpUrl, key, 20)
    expect(before.every(wasAcknowledged)).toBe(true)

    breakDisk('.db-wal')
    const during = await start(httpUrl, key, 20)
    expect(during.filter(wasAcknowledged)).toEqual([])
    expectRefusedInWords(during)
    await expect.poll(() => readReadiness(httpUrl)).toMatchObject(broken)
    expect((await openClient(httpUrl, key).send('/v1/jobs')).body.total, 'who only reads is still answered').toBe(20)

    breakDisk('.db-wal', 50)
    const flapping = await start(httpUrl, key, 60)
    expectRefusedInWords(flapping.filter((intent) => !wasAcknowledged(intent)))
    expect(new Set(flapping.map(wasAcknowledged)), 'some went through, some did not').toEqual(new Set([true, false]))

    mendDisk()
    await expect.poll(() => readReadiness(httpUrl)).toMatchObject({ status: 200 })
    await expectEachOnce(line, httpUrl, key, [...before, ...during, ...flapping])
  },
)

test.skipIf(unbuilt !== '')(
  `an output that cannot be flushed fails its run, /readyz says so, and nothing else is lost${unbuilt}`,
  async () => {
    const { line, key } = await open()
    await using _line = line
    const { httpUrl } = await serve(line)
    const client = openClient(httpUrl, key)
    breakDisk('/assets')
    const { body: failed } = await client.generate(model, { prompt: 'x' }, true)
    expect(failed).toMatchObject({
      status: 'failed',
      outputs: [],
      error: { code: 'output_not_stored', retryable: true },
      billing: { held: price, charged: 0, released: price },
    })
    await expect.poll(() => readReadiness(httpUrl)).toMatchObject({ status: 503 })
    mendDisk()
    await expect.poll(() => readReadiness(httpUrl)).toMatchObject({ status: 200 })
    expect((await client.generate(model, { prompt: 'x' }, true)).body).toMatchObject({ status: 'succeeded' })
    expect((await client.send('/v1/wallet')).body).toMatchObject({ available: 1_000_000 - price, held: 0 })
    expect(await line.json(['admin', 'ledger', 'verify'])).toMatchObject({ ok: true })
  },
)

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
