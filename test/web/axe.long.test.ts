// Every page without a violation that axe-core finds, in light and dark.
import axe from 'axe-core'
import { expect } from 'vitest'
import { withBuiltin } from '../test-app.ts'
import { startWebhookApp } from '../webhooks/webhook-app.ts'
import { startAdminApp } from './admin-page.ts'
import { adminPlacesOf, fillServer } from './admin-places.ts'
import type { BrowserPage } from './browser-page.ts'
import { inBrowser, useBrowser } from './browser-tests.ts'
import { fillAccount, type Go, paint, placesOf } from './places.ts'

const browser = useBrowser()

inBrowser('no page has a violation, in light or dark', async () => {
  await using hooks = await startWebhookApp({}, withBuiltin)
  const jobs = await fillAccount(hooks)
  await using page = await browser.openPage()
  expect(await findViolations(page, placesOf(hooks.app, jobs))).toEqual([])
})

inBrowser('P329 no page of the operator has one, nor have its dialogs', async () => {
  await using admin = await startAdminApp({}, withBuiltin)
  const ids = await fillServer(admin)
  await using page = await browser.openPage()
  expect(await findViolations(page, adminPlacesOf(admin, ids))).toEqual([])
})

/** What axe finds on each page. */
async function findViolations(page: BrowserPage, places: Readonly<Record<string, Go>>): Promise<string[]> {
  const violations: string[] = []
  for (const [name, open] of Object.entries(places)) {
    await open(page)
    await page.evaluate(axe.source)
    for (const scheme of ['light', 'dark'] as const) {
      await paint(page, scheme)
      // In dark only colours differ.
      const options = scheme === 'light' ? {} : { runOnly: ['color-contrast'] }
      const found = await page.evaluate<string[]>(
        `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html, any }) => id + ': ' + html.slice(0, 160) + ' ' + (any[0]?.message ?? ''))))`,
      )
      violations.push(...found.map((words) => `${name}, ${scheme}: ${words}`))
    }
  }
  return violations
}
