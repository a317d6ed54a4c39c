// An output that hangs, bloats or crashes whatever decodes it fails alone, in words, and soon.
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AssetStore } from '../../src/core/files/asset.ts'
import { createDiskBlobs } from '../../src/files/blobs/disk.ts'
import { openOutputs } from '../../src/files/outputs.ts'

let folder: string
let intake: string
let store: AssetStore

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mediagen-hostile-'))
  intake = join(folder, 'intake')
  store = openOutputs({
    blobs: createDiskBlobs(join(folder, 'assets')),
    intake,
    maxBytes: 1000,
    probeEntry: new URL('./hostile-process.ts', import.meta.url),
    probeTimeoutMs: 3000,
    maxProbeRssBytes: 400e6,
    // On one core, too, another run has a process while one hangs.
    spareProbes: 1,
  })
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

function put(job: string, content: string, signal?: AbortSignal) {
  const path = join(folder, `${job}.bin`)
  writeFileSync(path, content)
  return store.put(job, 0, path, signal && { signal })
}

test.each([
  ['hang', /^Output job_bad\.bin takes longer than \d+ s to decode\.$/],
  ['crash', /^Output job_bad\.bin crashes its decoder \(exit status \w+\)\.$/],
  ...(process.platform === 'linux'
    ? ([['hoard', /^Output job_bad\.bin needs more than 400 MB of memory to decode\.$/]] as const)
    : []),
] as const)('one that makes its process %s', async (what, message) => {
  const bad = put('job_bad', what)
  const others = ['a', 'b', 'c'].map((name) => put(`job_${name}`, 'good'))
  await expect(bad).rejects.toMatchObject({ name: 'EngineError', code: 'output_invalid', message, retryable: false })
  expect((await Promise.all(others)).map(({ key }) => key)).toEqual(['job_a/0.png', 'job_b/0.png', 'job_c/0.png'])
  expect((await put('job_d', 'good')).key).toBe('job_d/0.png')
  // Nothing of it is left, half-written previews included.
  expect([readdirSync(intake), existsSync(join(folder, 'assets', 'job_bad'))]).toEqual([[], false])
})

test('checking an output ends when its job is canceled', async () => {
  const cancel = new AbortController()
  const bad = put('job_bad', 'hang', cancel.signal)
  await put('job_a', 'good')
  cancel.abort(new Error('canceled'))
  await expect(bad).rejects.toThrow('canceled')
  expect([readdirSync(intake), existsSync(join(folder, 'assets', 'job_bad'))]).toEqual([[], false])
})

test('a store that is closed while it looks into an output fails that and leaves no process', async () => {
  const waiting = put('job_bad', 'hang')
  await expect.poll(() => existsSync(intake) && readdirSync(intake).length).toBe(1)
  const failed = expect(waiting).rejects.toThrow('closed')
  await store.close()
  await failed
})
