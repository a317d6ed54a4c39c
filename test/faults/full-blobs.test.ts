// Files on a disk of their own that is full: who has patience is served when there is room, anyone else is refused at once. A
// render that finds no room says so.
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createBuiltinEngine } from '@mediagen/builtin/engine.ts'
import { expect, test } from 'vitest'
import { createDiskBlobs } from '../../src/files/blobs/disk.ts'
import { startBench } from '../runner/fixture.ts'
import { makeFolder, mountDisk, whyNoMounts } from './fixture.ts'

const noMounts = whyNoMounts()
const diskBytes = 256 * 1024
const key = 'job_1/0.bin'

test.skipIf(noMounts !== '')(`a file with patience is stored when a full disk has room again${noMounts}`, async () => {
  using folder = makeFolder()
  using _disk = mountDisk(folder.path, `${diskBytes}`)
  using elsewhere = makeFolder()
  const made = join(elsewhere.path, 'made')
  const filler = join(folder.path, 'filler')
  const partial = join(folder.path, '.partial')
  const blobs = createDiskBlobs(folder.path)
  const content = Buffer.alloc(diskBytes / 2, 'paid for ')
  writeFileSync(filler, Buffer.alloc(diskBytes * 0.75))

  writeFileSync(made, content)
  await expect(blobs.putFiles(new Map([[key, made]]))).rejects.toMatchObject({ code: 'ENOSPC' })
  expect(await blobs.stat(key)).toBeNull()

  writeFileSync(made, content)
  const { mtimeMs } = statSync(partial)
  const stored = blobs.putFiles(new Map([[key, made]]), { patienceMs: 60_000 })
  // It was tried, and its beginning was removed again.
  const tried = async () => statSync(partial).mtimeMs > mtimeMs && (await readdir(partial)).length === 0
  await Promise.race([expect.poll(tried).toBe(true), stored])
  rmSync(filler)
  await stored
  expect(await blobs.stat(key)).toMatchObject({ bytes: content.length })
  expect([await readdir(partial), await readdir(elsewhere.path)]).toEqual([[], []])

  await blobs.delete([key])
  writeFileSync(made, content)
  writeFileSync(filler, Buffer.alloc(diskBytes * 0.75))
  const abort = new AbortController()
  const given = blobs.putFiles(new Map([[key, made]]), { patienceMs: 60_000, signal: abort.signal })
  abort.abort(new Error('canceled'))
  await expect(given).rejects.toThrow()
  expect([await blobs.stat(key), await readdir(elsewhere.path)]).toEqual([null, []])
})

test.skipIf(noMounts !== '')(
  `P174: a render that finds no room on the disk is told from a bug${noMounts}`,
  async () => {
    using folder = makeFolder()
    using _disk = mountDisk(folder.path, `${diskBytes}`)
    const engine = createBuiltinEngine({ poolSize: 1, processFolder: join(folder.path, 'processes') })
    const input = { prompt: 'aurora', width: 1280, height: 800 }
    try {
      await using bench = await startBench({
        run: (run) => engine.run({ kind: 'builtin', renderer: 'art' }, { ...run, input }),
      })
      const job = await bench.end(await bench.start(10, { maxAttempts: 1 }))
      expect(job).toMatchObject({ status: 'failed', error: { code: 'output_not_stored', retryable: true } })
      expect(await bench.balance()).toEqual([1000, 0])
    } finally {
      await engine.close()
    }
  },
)
