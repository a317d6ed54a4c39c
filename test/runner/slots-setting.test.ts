// How many jobs a worker runs at the same time, by setting.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { awaitFile, startTestApp } from '../test-app.ts'

test('MEDIAGEN_PLACES: a worker runs this many jobs at the same time, and the next one waits in the queue', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mediagen-slots-'))
  try {
    await using app = await startTestApp({
      MEDIAGEN_PLACES: '1',
      MEDIAGEN_CATALOG: join(import.meta.dirname, 'models.yaml'),
    })
    const [first, second] = [join(folder, 'first'), join(folder, 'second')]
    const start = async (gate: string): Promise<string> =>
      (await app.generate('test/patient/text-to-image', { gate }, { wait: false })).body.job_id
    await start(first)
    await awaitFile(`${first}.begun`)
    const next = await start(second)
    expect((await app.send(`/v1/jobs/${next}`)).body).toMatchObject({ status: 'queued', queue_position: 1 })
    await writeFile(first, '')
    await awaitFile(`${second}.begun`)
    await writeFile(second, '')
    await expect.poll(async () => (await app.send(`/v1/jobs/${next}`)).body.status).toBe('succeeded')
  } finally {
    await rm(folder, { recursive: true })
  }
})
