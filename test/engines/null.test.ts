// The null engine: costs what its catalog entry says, makes nothing or one pixel, and ends when it is told to.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createNullEngine } from '../../src/engines/null.ts'
import { startTestApp, type TestApp } from '../test-app.ts'

const input = { prompt: 'nothing' }

/** A server with models of this engine, named by their settings. */
async function startWith(engines: Readonly<Record<string, object>>): Promise<TestApp> {
  const models = Object.entries(engines).map(([id, settings]) => ({
    id,
    name: id,
    description: 'Makes nothing.',
    category: 'text-to-image',
    modality: 'image',
    owned_by: 'test',
    created: '2026-11-01',
    price: { credits: 2 },
    engine: { kind: 'null', ...settings },
    input: { type: 'object', required: ['prompt'], properties: { prompt: { type: 'string' } } },
  }))
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-null-'))
  try {
    writeFileSync(join(folder, 'null.json'), JSON.stringify({ models }))
    return await startTestApp({ MEDIAGEN_CATALOG: folder })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('a job succeeds with no outputs and is charged as any other', async () => {
  await using app = await startWith({ nothing: {} })
  const { status, body } = await app.generate('nothing', input)
  expect(status).toBe(200)
  expect(body).toMatchObject({ status: 'succeeded', outputs: [], progress: 1, credits: 2 })
  const wallet = await app.send('/v1/wallet')
  expect(wallet.body).toMatchObject({ available: 998, held: 0 })
})

test('with `picture`, a job has a picture that is served', async () => {
  await using app = await startWith({ pixel: { picture: true } })
  const { body } = await app.generate('pixel', input)
  expect(body.outputs).toMatchObject([{ content_type: 'image/png', width: 1, height: 1 }])
  const served = await fetch(body.outputs[0].url)
  expect(served.status).toBe(200)
})

test('a delay ends when the job is canceled', async () => {
  await using app = await startWith({ slow: { delay_ms: 600_000 } })
  const started = await app.generate('slow', input, { wait: false })
  await expect.poll(async () => (await app.send(`/v1/jobs/${started.body.job_id}`)).body.status).toBe('running')
  await app.send(`/v1/jobs/${started.body.job_id}/cancel`, { method: 'POST' })
  await expect.poll(async () => (await app.send(`/v1/jobs/${started.body.job_id}`)).body.status).toBe('canceled')
})

test('closing the engine ends its delays', async () => {
  const engine = createNullEngine()
  const run = engine.run({ kind: 'null', delay_ms: 600_000 }, { signal: new AbortController().signal } as never)
  await engine.close()
  await expect(run).rejects.toMatchObject({ code: 'canceled' })
})

test('more of its jobs run at once than there are places for engines that cost something', async () => {
  const jobs = 64
  await using app = await startWith({ slow: { delay_ms: 600_000, concurrency: jobs } })
  const starts = await Promise.all(Array.from({ length: jobs }, () => app.generate('slow', input, { wait: false })))
  expect(new Set(starts.map(({ status }) => status))).toEqual(new Set([202]))
  await expect.poll(async () => (await app.send('/v1/jobs?status=running&limit=1')).body.total).toBe(jobs)
})

test('a setting that it does not have is refused when the catalog loads', async () => {
  await expect(startWith({ wrong: { delay: 5 } })).rejects.toThrow(/"wrong".*delay/)
})
