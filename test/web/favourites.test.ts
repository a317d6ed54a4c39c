// Favourites, and the ways from one generation to the next, in a browser.
import { afterAll, expect } from 'vitest'
import { startTestApp } from '../test-app.ts'
import type { BrowserPage } from './browser-page.ts'
import { inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const app = await startTestApp()
afterAll(() => app[Symbol.asyncDispose]())
const browser = useBrowser()
const titles = `[...document.querySelectorAll('.tiles .tile b')].map((one) => one.textContent).join()`
const instant = 'test/instant/text-to-image'

/** The library of an account with three generations. */
async function openLibrary(): Promise<BrowserPage> {
  const account = await app.createAccount(100)
  for (const prompt of ['one', 'two', 'three']) await app.generate(instant, { prompt }, { account })
  const page = await browser.openPage()
  await page.open(`${app.url}/#key=${account.key}&/library`)
  await page.until(`${titles} === 'three,two,one'`)
  return page
}

inBrowser('a star marks favourites, which this browser keeps and the library finds', async () => {
  await using page = await openLibrary()
  const star = '.tile-cell:nth-child(2) .star'
  expect(await page.evaluate(`document.querySelector('${star}').getAttribute('aria-pressed')`)).toBe('false')
  await press(page, star)
  await press(page, '#starred')
  await page.until(`${titles} === 'two'`)
  await page.reload()
  await page.until(`${titles} === 'two' && document.querySelector('.star[aria-pressed=true]')`)
  // On its own page the star is the same, and taking it away empties the list.
  await press(page, '.tile')
  await page.until(`${textOf('h1')} === 'two' && document.querySelector('.title-row .star[aria-pressed=true]')`)
  await press(page, '.title-row .star')
  await page.evaluate('history.back()')
  await page.until(`${textOf('.tiles .empty')}?.startsWith('You have no favourites')`)
  await press(page, '#starred')
  await page.until(`${titles} === 'three,two,one'`)
})

inBrowser('the arrow keys lead from one generation to its neighbours in the library', async () => {
  await using page = await openLibrary()
  await press(page, '.tile-cell:nth-child(2) .tile')
  await page.until(`${textOf('h1')} === 'two'`)
  await page.press('ArrowRight')
  await page.until(`${textOf('h1')} === 'one' && document.querySelectorAll('.neighbours a').length === 1`)
  // There is none.
  await page.press('ArrowRight')
  await page.press('ArrowLeft')
  await page.until(`${textOf('h1')} === 'two'`)
  await press(page, '.neighbours a')
  await page.until(`${textOf('h1')} === 'three'`)
})
