// The console day after day: signed in everywhere, drafts kept, wrong fields found, too few credits said before they are missed.
import { expect } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { fill, inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
const instant = 'test/instant/text-to-image'
const signedIn = `document.querySelectorAll('.product').length > 2`
const asksForKey = `document.querySelector('#key-field')`

inBrowser('another tab is signed in with the first one, and signed out with it', async () => {
  await using app = await startTestApp()
  await using first = await browser.openPage()
  await first.open(`${app.url}/#key=${app.account.key}`)
  await first.until(signedIn)
  await using second = await browser.openPage()
  await second.open(`${app.url}/`)
  await second.until(signedIn)
  expect(await second.evaluate(`localStorage.length`)).toBe(0)
  // A tab with another key stays.
  await using other = await browser.openPage()
  const { key } = await app.createAccount(5)
  await other.open(`${app.url}/#key=${key}`)
  await other.until(`${textOf('.wallet')}?.startsWith('5 credits')`)

  await press(first, '[aria-label="Sign out"]')
  await second.until(asksForKey)
  expect(await other.evaluate(asksForKey)).toBeNull()
  // Tabs that ask for a key take the next one that is entered.
  await fill(second, '#key-field', app.account.key)
  await press(second, '.key-form button')
  await first.until(signedIn)
})

inBrowser('the device remembers the key and drafts if the user wants that, until the user signs out', async () => {
  await using app = await startTestApp()
  {
    await using page = await browser.openPage()
    await page.open(`${app.url}/`)
    await fill(page, '#key-field', app.account.key)
    await press(page, '#remember-key')
    await press(page, '.key-form button')
    await page.until(signedIn)
    await page.evaluate(`location.hash = '#/model/${instant}'`)
    await fill(page, 'textarea', 'a red fox')
    await page.until(`${textOf('.large')} === 'Generate for 3 credits'`)
  }
  await using page = await browser.openPage()
  await page.open(`${app.url}/#/model/${instant}`)
  await page.until(`document.querySelector('textarea')?.value === 'a red fox'`)
  await press(page, '[aria-label="Sign out"]')
  await page.until(asksForKey)
  expect(await page.evaluate(`JSON.stringify([localStorage, sessionStorage])`)).not.toMatch(/mgk_\w{5}|red fox/)
})

inBrowser('what was made before is not shown as the result of an empty form', async () => {
  await using app = await startTestApp()
  await app.generate(instant, { prompt: 'a red fox' }, { wait: true })
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}&/model/${instant}`)
  expect(await page.until(textOf('.made-before'))).toBe('Made before: a red fox')
  expect(await page.evaluate(`document.querySelector('textarea').value`)).toBe('')
  await fill(page, 'textarea', 'a blue fox')
  await page.until(`${textOf('.large')} === 'Generate for 3 credits'`)
  await press(page, '.large')
  await page.until(`document.querySelector('.result') && !document.querySelector('.made-before')`)
})

inBrowser('a press goes to the first wrong field, and the length of a text is counted', async () => {
  await using app = await startTestApp()
  await using page = await browser.openPage()
  await page.resize(390)
  await page.open(`${app.url}/#key=${app.account.key}&/model/${instant}`)
  await fill(page, 'textarea', '🦊🦊🦊')
  expect(await page.evaluate(textOf('.counter'))).toBe('3 / 2,000')
  await fill(page, '.field[data-name=width] .number', '9999')
  await page.until(`document.querySelector('.field[data-name=width].wrong')`)
  // Typing is not disturbed …
  await fill(page, 'textarea', 'x')
  await page.until(`!document.querySelector('.asking')`)
  expect(await page.evaluate(`document.activeElement.tagName`)).toBe('TEXTAREA')
  // … but a press is answered where the mistake is.
  await page.evaluate(`document.querySelector('.large').scrollIntoView()`)
  await press(page, '.large')
  await page.until(`document.activeElement === document.querySelector('.field[data-name=width] .number')`)
  const [top, bottom] = await page.evaluate<number[]>(
    `(({ top, bottom }) => [top, bottom])(document.querySelector('.field[data-name=width] .field-error').getBoundingClientRect())`,
  )
  expect(top).toBeGreaterThan(56)
  expect(bottom).toBeLessThan(844 - 100)
})

inBrowser('too few credits, and the same input a second time, are said before the press', async () => {
  await using app = await startTestApp()
  const { key } = await app.createAccount(4)
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${key}&/model/${instant}`)
  await fill(page, 'textarea', 'a red fox')
  await page.until(`${textOf('.large')} === 'Generate for 3 credits'`)
  expect(await page.evaluate(textOf('.generate-bar .field-error'))).toBe('')
  await press(page, '.large')
  await page.until(`${textOf('.generate-bar .field-error')} === 'Not enough credits: you have 1.'`)
  await page.until(`${textOf('.generate-bar > .fine')} === 'You have made this with the same settings.'`)
  await fill(page, 'textarea', 'a blue fox')
  await page.until(`${textOf('.generate-bar > .fine')}.startsWith('Charged only if it succeeds.')`)
})

inBrowser(
  'what was made before, by whichever client, is said before it is paid again; a remix link fills the form',
  async () => {
    await using app = await startTestApp()
    const { body: job } = await app.generate(
      'test/instant/text-to-image',
      { width: 640, prompt: 'a red fox' },
      { wait: true },
    )
    await app.generate('test/failing/text-to-image', { prompt: 'a red fox' }, { wait: true })
    await using page = await browser.openPage()
    await page.open(`${app.url}/#key=${app.account.key}&/remix/${job.job_id}`)
    await page.until(
      `location.hash === '#/model/${instant}' && document.querySelector('textarea')?.value === 'a red fox'`,
    )
    expect(await page.evaluate(`document.querySelector('.field[data-name=width] .number').value`)).toBe('640')
    await page.until(`${textOf('.generate-bar > .fine')} === 'You have made this with the same settings.'`)
    await fill(page, 'textarea', 'a red fox in snow')
    await page.until(`${textOf('.generate-bar > .fine')}.startsWith('Charged only if it succeeds.')`)
    // It is a link, for other tabs and for people with a key of the account.
    expect(await page.evaluate(`document.querySelector('.job .actions a').hash`)).toBe(`#/remix/${job.job_id}`)

    // What failed was not paid for.
    await page.evaluate(`location.hash = '#/model/test/failing/text-to-image'`)
    await fill(page, 'textarea, .field[data-name=prompt] input', 'a red fox')
    await page.until(
      `document.querySelector('.strip .tile') && ${textOf('.generate-bar > .fine')}.startsWith('Charged only if it succeeds.')`,
    )

    await page.evaluate(`location.hash = '#/remix/job_none'`)
    await page.until(`${textOf('main .notice strong')} === 'There is no such generation'`)
  },
)
