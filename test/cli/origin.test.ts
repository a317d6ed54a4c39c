// What commands say of where an output comes from (P383).
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fixture } from '../files/provenance/fixture.ts'
import { startTestApp } from '../test-app.ts'
import { openCommandLine } from './command-line.ts'

test('P383: generate and show say who signed an output, and that it was made by AI', async () => {
  await using app = await startTestApp({ MEDIAGEN_CATALOG: join(import.meta.dirname, '../files/media/models.yaml') })
  await using line = openCommandLine({ MEDIAGEN_URL: app.url, MEDIAGEN_KEY: app.account.key })
  copyFileSync(fixture('signed.png'), join(line.folder, 'photo.png'))
  const origin = 'Signed by Example Provider, checked. Says it was made by AI.'
  const generate = ['generate', 'test/copy/image-to-image', '--set', 'image=@photo.png']
  const made = await line.run(generate)
  expect(made.stdout).toMatch(new RegExp(`^origin +${origin}$`, 'm'))
  const { job_id: jobId, ...printed } = await line.json(generate)
  expect(printed).toMatchObject({ origin: [origin] })
  expect((await line.run(['show', jobId])).stdout).toMatch(new RegExp(`^origin +${origin}$`, 'm'))
})
