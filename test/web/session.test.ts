// Keys of the console: a link replaces none without a question, a wrong one changes nothing, and signing out reaches every tab.
import { expect } from 'vitest'
import { startTestApp, type TestApp } from '../test-app.ts'
import type { BrowserPage } from './browser-page.ts'
import { fill, inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
const instant = 'test/instant/text-to-image'
const asksForKey = `document.querySelector('#key-field')`
const wrong = `mgk_${'0'.repeat(43)}`
const question = `document.querySelector('dialog[open]')`

/** Signs in on this device, and begins a draft. */
async function signIn(app: TestApp, page: BrowserPage): Promise<void> {
  await page.open(`${app.url}/`)
  await fill(page, '#key-field', app.account.key)
  await press(page, '#remember-key')
  await press(page, '.key-form button')
  await page.until(`document.querySelectorAll('.product').length > 2`)
  await page.evaluate(`location.hash = '#/model/${instant}'`)
  await fill(page, 'textarea', 'a red fox')
  await page.until(`${textOf('.large')} === 'Generate for 3 credits'`)
}

const answer = (page: BrowserPage, label: string): Promise<void> =>
  page.evaluate(
    `[...document.querySelectorAll('dialog[open] button')].find((one) => one.textContent === '${label}').click()`,
  )

inBrowser('the key of a link replaces a remembered one only if the user says so, and only if it works', async () => {
  await using app = await startTestApp()
  const other = await app.createAccount(5)
  await using page = await browser.openPage()
  await signIn(app, page)
  const kept = `localStorage.getItem('mediagen.key') === '${app.account.key}'`

  // Opened anew, and in the page that is open already.
  for (const key of [wrong, other.key]) {
    await page.evaluate(`location.hash = '#key=${key}&/model/${instant}'`)
    await page.until(question)
    expect(await page.evaluate('location.hash')).toBe(`#/model/${instant}`)
    await answer(page, 'Stay signed in as you are')
    await page.until(`!${question} && document.querySelector('textarea')?.value === 'a red fox'`)
    expect(await page.evaluate(kept)).toBe(true)
  }
  await page.open('about:blank')
  await page.open(`${app.url}/#key=${wrong}&/model/${instant}`)
  await page.until(question)
  await answer(page, 'Use the other key')
  expect(await page.until(textOf('dialog .field-error'))).toMatch(/unknown/)
  expect(await page.evaluate(kept)).toBe(true)
  await answer(page, 'Stay signed in as you are')
  await page.until(`document.querySelector('textarea')?.value === 'a red fox'`)

  await page.evaluate(`location.hash = '#key=${other.key}'`)
  await page.until(question)
  await answer(page, 'Use the other key')
  await page.until(`!${question} && ${textOf('.wallet')}?.startsWith('5 credits')`)
  expect(await page.evaluate(`localStorage.getItem('mediagen.key') === '${other.key}'`)).toBe(true)
})

inBrowser('a wrong key in a link is refused in words and not kept', async () => {
  await using app = await startTestApp()
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${wrong}`)
  await page.until(asksForKey)
  expect(await page.until(textOf('#key-error'))).toMatch(/unknown/)
  expect(await page.evaluate(`localStorage.length + sessionStorage.length`)).toBe(0)
})

inBrowser('a tab that was elsewhere when its key was signed out has it no more, and hands it to no other', async () => {
  await using app = await startTestApp()
  await using away = await browser.openPage()
  await away.open(`${app.url}/#key=${app.account.key}`)
  await away.until(`document.querySelectorAll('.product').length > 2`)
  await using here = await browser.openPage()
  await here.open(`${app.url}/`)
  await here.until(`document.querySelectorAll('.product').length > 2`)
  await away.open('about:blank')

  await press(here, '[aria-label="Sign out"]')
  await here.until(asksForKey)
  await away.evaluate('history.back()')
  await away.until(asksForKey)
  expect(await away.evaluate(`JSON.stringify([localStorage, sessionStorage])`)).not.toContain(app.account.key)
  await using another = await browser.openPage()
  await another.open(`${app.url}/`)
  await another.until(asksForKey)
  // The same key works again, in the same tab.
  await fill(away, '#key-field', app.account.key)
  await press(away, '.key-form button')
  await away.until(`document.querySelectorAll('.product').length > 2`)
  await away.reload()
  await away.until(`document.querySelectorAll('.product').length > 2`)
})
