// A backup never names a file that went away while it was made: not by its owner's deletion, and not by a record of the copy.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { backUp } from '../../src/app/operator/backup/back-up.ts'
import { readList } from '../../src/app/operator/backup/folder.ts'
import type { Blobs } from '../../src/files/blobs/blobs.ts'
import { createDiskBlobs } from '../../src/files/blobs/disk.ts'
import { listRecordedFiles } from '../../src/storage/recorded-files.ts'
import { openSqliteTables } from '../../src/storage/sqlite/tables.ts'
import { startTestApp } from '../test-app.ts'

const model = 'test/instant/text-to-image'

test('a job that is deleted between the copy of the database and that of its file is in neither', async () => {
  await using app = await startTestApp({}, {})
  const kept = (await app.generate(model, { prompt: 'kept' })).body
  const deleted = (await app.generate(model, { prompt: 'deleted' })).body
  const { dataDir } = app.config
  const files = createDiskBlobs(join(dataDir, 'assets'))
  const wasAsked: string[] = []
  const during: Blobs = {
    ...files,
    async copyTo(key, path, take) {
      if (key.startsWith(deleted.job_id) && wasAsked.push(key) === 1) {
        await app.send(`/v1/jobs/${deleted.job_id}`, { method: 'DELETE' })
        await expect.poll(() => files.stat(key)).toBeNull()
      }
      return files.copyTo(key, path, take)
    },
  }
  const folder = join(app.folder, 'backup')
  const order = { database: { dataDir }, bucket: null, folder, version: '0', nowMs: Date.now }
  const { manifest, lost } = await backUp({ ...order, files: during })
  expect(wasAsked.length).toBeGreaterThan(0)
  expect(lost).toEqual([])
  const listed: string[] = []
  for await (const { key } of readList(folder, manifest)) listed.push(key)
  const named: string[] = []
  await using tables = openSqliteTables(join(folder, manifest.database.name))
  for await (const { key } of listRecordedFiles(tables)) named.push(key)
  expect(listed.toSorted()).toEqual(named.toSorted())
  expect(named.length).toBeGreaterThan(0)
  expect(named.every((key) => key.startsWith(kept.job_id))).toBe(true)
})
