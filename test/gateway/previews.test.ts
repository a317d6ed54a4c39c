// A draft that a program shows is in the record of its job over REST while it runs, under a signed URL that works without a key.
// P23.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder, modelOf, writeCatalog } from '../faults/fixture.ts'
import { startTestApp } from '../test-app.ts'

const script = `cp "$0" .draft.png; echo '{"preview": ".draft.png"}'; until [ -e "$1/go" ]; do sleep 0.05; done; cp "$0" out.png`

test('preview_url is there while the job runs, and null before and after', async () => {
  using folder = makeFolder()
  await using app = await startTestApp({ MEDIAGEN_CATALOG: writeCatalog(folder.path, [{ name: 'drafts', script }]) })
  const { body: job } = await app.generate(modelOf('drafts'), {}, { wait: false })
  expect(job.preview_url).toBeNull()
  const read = async () => (await app.send(`/v1/jobs/${job.job_id}`)).body
  await expect.poll(async () => (await read()).preview_url).toMatch(/\/assets\/job_.*signature=/)
  const { preview_url: url } = await read()
  const file = await fetch(url)
  expect([file.status, file.headers.get('content-type')]).toEqual([200, 'image/webp'])
  writeFileSync(join(folder.path, 'go'), '')
  await expect.poll(read).toMatchObject({ status: 'succeeded', preview_url: null, outputs: [{}] })
  await expect.poll(async () => (await fetch(url)).status).toBe(404)
})
