// Making a job again in a browser: what it takes, and what is not certain, before the press (P365).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { createDataDir } from '../test-store.ts'
import { inBrowser, textOf, useBrowser } from './browser-tests.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-again-'))
afterAll(() => rmSync(folder, { recursive: true }))
const browser = useBrowser()
const model = 'test/card/text-to-image'

function writeCatalog(version: string): string {
  const path = join(folder, `${version}.json`)
  const entry = {
    id: model,
    name: 'Card',
    description: 'A card.',
    category: 'text-to-image',
    modality: 'image',
    owned_by: 'test',
    created: '2026-11-01',
    version,
    price: { credits: 2 },
    engine: { kind: 'null', picture: true },
    input: { type: 'object', properties: { title: { type: 'string' }, seed: { type: 'integer', minimum: 0 } } },
  }
  writeFileSync(path, JSON.stringify({ models: [entry] }))
  return path
}

inBrowser('a job is made again with its seed; the dialog says that the model has another version now', async () => {
  const dataDir = join(folder, 'data')
  await createDataDir(dataDir)
  const open = (version: string) =>
    startTestApp({ MEDIAGEN_CATALOG: writeCatalog(version), MEDIAGEN_DATA_DIR: dataDir })
  let key = ''
  let jobId = ''
  let seed = 0
  {
    await using app = await open('1')
    key = app.account.key
    jobId = (await app.generate(model, { title: 'Fair' })).body.job_id
    seed = (await app.send(`/v1/jobs/${jobId}`)).body.reproduction.seed
  }
  await using app = await open('2')
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${key}&/job/${jobId}`)
  const again = `[...document.querySelectorAll('.job .actions button')].find((one) => one.textContent === 'Make again')`
  await page.until(again)
  await page.evaluate(`${again}.click()`)
  await page.until(`${textOf('dialog .primary')} === 'Make it again for 2 credits'`)
  const words = await page.evaluate<string>(`document.querySelector('dialog').textContent`)
  expect(words).toContain('It was made with version 1; the model has version 2 now.')
  expect(words).toContain(`Seed${seed}`)
  await page.evaluate(`document.querySelector('dialog .primary').click()`)
  await page.until(`location.hash.startsWith('#/job/') && !location.hash.includes('${jobId}')`)
  const { body } = await app.send('/v1/jobs?limit=1', { key })
  expect(body.data[0].input).toEqual({ title: 'Fair', seed })
  expect(page.errors).toEqual([])
})
