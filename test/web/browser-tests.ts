// What tests in a browser share: one browser for a file, and what a person does on a page.
import { afterAll, beforeAll, test } from 'vitest'
import type { BrowserPage } from './browser-page.ts'
import { type Browser, chromiumPath, openBrowser } from './chromium.ts'

/** A test that needs a browser; skipped, with a warning, where there is none. */
export const inBrowser = test.skipIf(!chromiumPath)

/** Opens a browser for the tests of a file. */
export function useBrowser(): { openPage(): Promise<BrowserPage> } {
  let browser: Browser | undefined
  beforeAll(async () => {
    if (chromiumPath) browser = await openBrowser()
    else
      console.warn(
        'SKIPPED tests in a browser: no Chromium on this machine. Install one (apt-get install chromium) or set CHROMIUM to its path.',
      )
  })
  afterAll(() => browser?.[Symbol.asyncDispose]())
  return {
    async openPage() {
      if (!browser) throw new Error('no browser')
      return browser.openPage()
    },
  }
}

/** Types into a field; again when the page drew the field anew meanwhile, as it may on a slow machine. */
export async function fill(page: BrowserPage, selector: string, text: string): Promise<void> {
  const field = `document.querySelector(${JSON.stringify(selector)})`
  const kept = `new Promise((resolve) => setTimeout(() => resolve(${field}?.value === ${JSON.stringify(text)}), 100))`
  do {
    await page.until(field)
    await page.evaluate(`(() => { const field = ${field}; field.focus(); field.select() })()`)
    await page.type(text)
  } while (!(await page.evaluate(kept)))
}

/** An expression: the text of an element. */
export function textOf(selector: string): string {
  return `document.querySelector(${JSON.stringify(selector)})?.textContent`
}

/** Clicks an element. */
export function press(page: BrowserPage, selector: string): Promise<void> {
  return page.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`)
}
