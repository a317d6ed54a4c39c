// Deletion in a browser: one generation, many, and what other tabs see of it.
import { afterAll, beforeAll, expect } from 'vitest'
import { startTestApp, type TestAccount, type TestApp } from '../test-app.ts'
import type { BrowserPage } from './browser-page.ts'
import { inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
let app: TestApp

beforeAll(async () => {
  app = await startTestApp({ MEDIAGEN_PLACES: '1' })
})

afterAll(() => app[Symbol.asyncDispose]())

const instant = 'test/instant/text-to-image'
const titles = `[...document.querySelectorAll('.tile b')].map(({ textContent }) => textContent).join()`
const buttonOf = (place: string, words: string) =>
  `[...document.querySelectorAll('${place} button')].find(({ textContent }) => textContent.startsWith('${words}'))`

async function open({ key }: TestAccount, view: string): Promise<BrowserPage> {
  const page = await browser.openPage()
  await page.open(`${app.url}/#key=${key}&/${view}`)
  await page.until(`document.querySelector('nav:not([hidden])')`)
  return page
}

/** Answers the question of the page; what it asked. */
async function answer(page: BrowserPage, yes: boolean): Promise<string> {
  const words = await page.until<string>(
    `[...document.querySelectorAll('dialog :is(h2, p)')].map(({ textContent }) => textContent).join(' ')`,
  )
  await page.evaluate(`document.querySelector('dialog .button.${yes ? 'danger' : 'quiet'}').click()`)
  await page.until(`!document.querySelector('dialog')`)
  return words
}

inBrowser('a generation is deleted on its page, after a question, and disappears from other tabs', async () => {
  const account = await app.createAccount(1000)
  const { body: job } = await app.generate(instant, { prompt: 'a red fox' }, { account })
  await app.generate(instant, { prompt: 'a blue fox' }, { account })
  await using library = await open(account, 'library')
  await library.until(`${titles} === 'a blue fox,a red fox'`)
  await using page = await open(account, `job/${job.job_id}`)
  await page.until(buttonOf('.job .actions', 'Delete'))
  await page.evaluate(`${buttonOf('.job .actions', 'Delete')}.click()`)
  expect(await answer(page, false)).toBe(
    'Delete this generation? Its files and settings will be gone for good, and links to them will stop working. Queued generations that use these files will fail, and their credits will be returned. What was paid stays on record.',
  )
  expect((await app.send(`/v1/jobs/${job.job_id}`, account)).body.deleted_at).toBeNull()

  await page.evaluate(`${buttonOf('.job .actions', 'Delete')}.click()`)
  await answer(page, true)
  await page.until(`${textOf('.job .notice strong')} === 'Deleted'`)
  expect(await page.evaluate(`document.querySelector('.result, .job .actions')`)).toBeNull()
  expect((await app.send(`/v1/jobs/${job.job_id}`, account)).body.deleted_at).not.toBeNull()
  await library.until(`${titles} === 'a blue fox'`)
  expect(await library.evaluate(textOf('.library-bar [role=status]'))).toBe('1 generation')

  // The link of the ledger still leads to it.
  await page.evaluate(`location.hash = '#/wallet'`)
  await page.until(`document.querySelectorAll('.ledger tbody tr').length === 3`)
  await page.evaluate(`location.hash = '#/job/${job.job_id}'`)
  await page.until(`${textOf('.job .notice strong')} === 'Deleted'`)
  expect(page.errors).toEqual([])
})

inBrowser('selected generations are deleted together; one that still runs stays', async () => {
  const account = await app.createAccount(1000)
  for (const prompt of ['one', 'two', 'three']) await app.generate(instant, { prompt }, { account })
  const gate = app.gate()
  await app.generate('test/gate/text-to-image', gate.input, { wait: false, account })
  await gate.begun()
  await using page = await open(account, 'library')
  await page.until(`${titles}.endsWith('three,two,one')`)
  await press(page, '.selection .button:last-of-type')
  for (const tile of [1, 2, 4]) await press(page, `.tile-cell:nth-child(${tile}) .tile`)
  await page.evaluate(`${buttonOf('.selection', 'Delete 2')}.click()`)
  expect(await answer(page, true)).toMatch(/^Delete 2 generations\? Their files/)
  await page.until(`${titles}.endsWith(',two')`)
  expect(await page.evaluate(`document.querySelectorAll('.tile').length`)).toBe(2)
  expect(await page.evaluate(textOf('.library-bar > [role=status]'))).toBe('2 generations')
  expect((await app.send('/v1/jobs', account)).body.total).toBe(2)
  gate.open()
  expect(page.errors).toEqual([])
})

inBrowser('the library shows the queued ones, and drops one that has begun', async () => {
  const account = await app.createAccount(1000)
  const gates = [app.gate(), app.gate()]
  for (const { input } of gates) await app.generate('test/gate/text-to-image', input, { wait: false, account })
  await using page = await open(account, 'library')
  await page.until(`document.querySelectorAll('.tile').length === 2`)
  await page.evaluate(`document.querySelector('[for=status-3]').click()`)
  await page.until(
    `document.querySelectorAll('.tile').length === 1 && ${textOf('.tile .fine')}.endsWith('Queued, next in line')`,
  )
  gates[0]?.open()
  await page.until(`${textOf('.empty')}?.startsWith('No generations match.')`)
  gates[1]?.open()
})
