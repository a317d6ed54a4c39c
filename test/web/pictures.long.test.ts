// Takes pictures of every page, to be looked at: MEDIAGEN_PICTURES=/tmp/pictures npx vitest run --project long test/web/pictures
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withBuiltin } from '../test-app.ts'
import { startWebhookApp } from '../webhooks/webhook-app.ts'
import { useBrowser } from './browser-tests.ts'
import { fillAccount, paint, placesOf } from './places.ts'

const folder = process.env['MEDIAGEN_PICTURES'] ?? ''
const browser = useBrowser()
const looks = [
  { look: 'light', width: 1280 },
  { look: 'dark', width: 1280 },
  { look: 'phone', width: 390 },
]

test.skipIf(folder === '')('every page in light, in dark and as wide as a phone', async () => {
  mkdirSync(folder, { recursive: true })
  await using hooks = await startWebhookApp({}, withBuiltin)
  const jobs = await fillAccount(hooks)
  await using page = await browser.openPage()
  let taken = 0
  for (const [name, open] of Object.entries(placesOf(hooks.app, jobs))) {
    await open(page)
    for (const { look, width } of looks) {
      await page.resize(width)
      await paint(page, look === 'dark' ? 'dark' : 'light')
      await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
      const { data } = await page.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: false })
      writeFileSync(join(folder, `${name}-${look}.png`), Buffer.from(data, 'base64'))
      taken += 1
    }
    await page.resize(1280)
  }
  expect(taken).toBeGreaterThan(50)
})
