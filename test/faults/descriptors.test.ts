// A server without file descriptors: nobody's job fails for it, uploads are refused in words, and all goes on when there are some.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { takeDescriptors, whyNoLimits } from '../../packages/engine/test/descriptors.ts'
import { startTestApp, type TestApp } from '../test-app.ts'
import { expectWhole, makeFolder, modelOf, picture, price, writeCatalog } from './fixture.ts'

const noLimits = whyNoLimits()

function read(app: TestApp, jobId = '') {
  return app.send(`/v1/jobs/${jobId}`).then(({ body }) => body)
}

test.skipIf(noLimits !== '')(`jobs wait for file descriptors, and succeed when there are some${noLimits}`, async () => {
  using folder = makeFolder()
  await using app = await startTestApp({
    MEDIAGEN_CATALOG: writeCatalog(folder.path, [
      { name: 'fine', script: 'cp "$0" out.png' },
      { name: 'once', script: 'cp "$0" out.png', resumable: false },
    ]),
  })
  const start = (name: string) => app.generate(modelOf(name), {}, { wait: false })
  const file = readFileSync(picture)
  // Code is loaded, processes run, and the connection is open.
  const first = await app.generate(modelOf('fine'), {})
  expect(first.body.status).toBe('succeeded')
  let jobs: string[]
  {
    await using descriptors = await takeDescriptors()
    const started = [await start('fine'), await start('once')]
    expect(
      started.map(({ status }) => status),
      'a start needs none',
    ).toEqual([202, 202])
    jobs = started.map(({ body }) => body.job_id)
    await expect.poll(() => read(app, jobs[0])).toMatchObject({ status: 'queued', attempts: 1, error: null })
    // One that is not run twice keeps its place once its engine has begun, and goes back as well before that.
    await expect.poll(() => read(app, jobs[1])).toMatchObject({ attempts: 1, error: null })
    expect(['running', 'queued']).toContain((await read(app, jobs[1])).status)
    descriptors.takeFreed()
    const upload = await fetch(`${app.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.account.key}`, 'content-type': 'image/png' },
      body: file,
    })
    expect(upload.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect([upload.status, (await upload.json()).code]).toEqual([503, 'storage_unavailable'])
    descriptors.takeFreed()
    const { pathname, search } = new URL(first.body.outputs[0].url)
    const asset = await app.send(pathname + search, { key: null })
    expect(asset.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect([asset.status, asset.body.code], 'a file is not gone because it cannot be opened').toEqual([
      503,
      'storage_unavailable',
    ])
    expect((await app.send('/healthz', { key: null })).status).toBe(200)
  }
  for (const jobId of jobs)
    await expect.poll(() => read(app, jobId)).toMatchObject({ status: 'succeeded', billing: { charged: price } })
  await expectWhole(app)
})
