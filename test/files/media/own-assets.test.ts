// The output of one job is the input of the next: read from the store by its signed URL, never over the network (P105).
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { layOut } from '../../../src/app/store/data-dir.ts'
import { createTestClock } from '../../gateway/test-clock.ts'
import { withBuiltin } from '../../test-app.ts'
import { startMediaApp } from './media-app.ts'

const art = { prompt: 'the sea', width: 256, height: 192 }
const artModel = 'builtin/image/art/text-to-image'

test('an output is handed on by its URL, whatever address this server has', async () => {
  await using media = await startMediaApp({ MEDIAGEN_PUBLIC_URL: 'https://media.example' }, withBuiltin)
  const first = await media.run(art, artModel)
  const { url, sha256 } = first.outputs[0]
  expect(url).toMatch(/^https:\/\/media\.example\/assets\//)
  const next = await media.run({ image: url })
  expect(next.outputs[0]).toMatchObject({ sha256, content_type: 'image/png' })
})

test('an output is handed on by its URL between processes that each have an address of their own', async () => {
  await using worker = await startMediaApp({}, withBuiltin)
  await using api = await startMediaApp(
    { MEDIAGEN_DATA_DIR: worker.app.config.dataDir, MEDIAGEN_ROLES: 'api' },
    withBuiltin,
  )
  const { app } = api
  // Started here, run there.
  const first = await api.run(art, artModel)
  const { url, sha256 } = first.outputs[0]
  expect([new URL(url).origin, new URL(url).origin === worker.app.app.httpUrl]).toEqual([app.app.httpUrl, false])
  expect((await api.run({ image: url })).outputs[0]).toMatchObject({ sha256 })
  // So is an upload.
  const upload = await fetch(`${app.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.account.key}`, 'content-type': 'image/png' },
    body: await (await fetch(url)).blob(),
  })
  const file = (await upload.json()) as { url: string }
  expect((await api.run({ image: file.url })).outputs[0]).toMatchObject({ sha256 })
})

test('a picture that one model made becomes a film by another', async () => {
  await using media = await startMediaApp({}, withBuiltin)
  const picture = await media.run(art, artModel)
  const film = await media.run(
    { image: picture.outputs[0].url, duration: 1, width: 320, height: 180, fps: 24 },
    'builtin/video/kenburns/image-to-video',
  )
  expect(film).toMatchObject({ status: 'succeeded', outputs: [{ content_type: 'video/mp4', width: 320, height: 180 }] })
})

test('a signature that is wrong or has expired is refused, and so is a file that is gone', async () => {
  const clock = createTestClock()
  await using media = await startMediaApp({}, { ...withBuiltin, clock })
  const first = await media.run(art, artModel)
  const url = new URL(first.outputs[0].url)
  const wrong =
    'image is a URL of this server whose signature is wrong or has expired; read the job again for a fresh one.'

  const other = new URL(url)
  other.pathname = '/assets/../mediagen.db'
  const altered = new URL(url)
  altered.searchParams.set('expires', String(Number(url.searchParams.get('expires')) + 1))
  const escaping = `${url.origin}/assets/%2e%2e%2fmediagen.db${url.search}`
  for (const image of [altered.href, escaping, `${url.origin}/assets/${url.search}`, `${url.origin}/assets/x`])
    expect(await media.refusal({ image })).toEqual({ code: 'invalid_media', message: wrong, retryable: false })
  // Every other path of this server is an address like any other: a private one.
  expect((await media.refusal({ image: other.href })).message).toContain('does not lead to a public address')

  clock.ms += 30 * 3_600_000
  expect((await media.refusal({ image: url.href })).message).toBe(wrong)
  const { body: job } = await media.app.send(`/v1/jobs/${first.job_id}`)
  expect(await media.run({ image: job.outputs[0].url })).toMatchObject({ status: 'succeeded' })
  rmSync(join(layOut(media.app.config.dataDir).assets, first.job_id), { recursive: true })
  expect((await media.refusal({ image: job.outputs[0].url })).message).toBe(
    'image is the URL of a file that was deleted or has expired.',
  )
})
