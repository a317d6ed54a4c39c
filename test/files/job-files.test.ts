// P364: which files of this server the archive of a job has.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, expect, test } from 'vitest'
import type { Job } from '../../src/core/jobs/job.ts'
import { createDiskBlobs } from '../../src/files/blobs/disk.ts'
import { createJobFiles } from '../../src/files/job-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-job-files-'))
afterAll(() => rmSync(folder, { recursive: true }))

const key = 'job_a/0.png'
const delivered = { status: 'succeeded', deletedAtMs: null, outputs: [{ key, previewKey: null }] }

test.each([
  ['its owner may read what was delivered', delivered, false, true],
  ['an output under review is withheld', { status: 'needs_review', deletedAtMs: null, outputs: [] }, false, false],
  ['a file that is none of the outputs is no output', { ...delivered, outputs: [] }, false, false],
  ['a deleted job has no files', { ...delivered, deletedAtMs: 1 }, false, false],
  ['a job of another account has none', null, false, false],
  ['anyone may read what has a valid signature', null, true, true],
])('%s', async (_, earlier, valid, isThere) => {
  const blobs = createDiskBlobs(join(folder, 'blobs'))
  await blobs.put(key, Readable.from(['picture']))
  const files = createJobFiles({
    store: { getJob: async () => earlier as Job | null, getUpload: async () => null },
    blobs,
    urls: { read: () => ({ key, valid }) },
  })
  const job = { accountId: 'acct_1', status: 'failed', deletedAtMs: null, outputs: [] } as unknown as Job
  const found = []
  for await (const file of files.read(
    job,
    [{ pointer: '/image', reference: 'http://here/assets/job_a/0.png' }],
    true,
  )) {
    file.content?.destroy()
    found.push(file.missing === null)
  }
  expect(found).toEqual([isThere])
})
