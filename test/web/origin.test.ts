// What the page of a job says of where its output comes from (P383).
import { join } from 'node:path'
import { expect } from 'vitest'
import { signedPng } from '../files/provenance/fixture.ts'
import { startTestApp } from '../test-app.ts'
import { inBrowser, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()

inBrowser('P383: the page of a job says who signed its output, and that it was made by AI', async () => {
  await using app = await startTestApp({ MEDIAGEN_CATALOG: join(import.meta.dirname, '../files/media/models.yaml') })
  const image = `data:image/png;base64,${signedPng.toString('base64')}`
  const { body } = await app.generate('test/copy/image-to-image', { image })
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}&/job/${body.job_id}`)
  await page.until(textOf('.result figcaption .origin'))
  expect(await page.evaluate(textOf('.result figcaption .origin'))).toBe(
    'Signed by Example Provider, checked. Says it was made by AI.',
  )
})
