// The API reference at /docs in a browser: every page draws, a search finds it, a request is tried with a key.
import { afterAll, expect, test } from 'vitest'
import { readReference } from '../../web/docs/document.ts'
import { startTestApp } from '../test-app.ts'
import type { BrowserPage } from './browser-page.ts'
import { fill, inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const app = await startTestApp()
afterAll(() => app[Symbol.asyncDispose]())
const browser = useBrowser()
const { operations } = readReference((await app.send('/openapi.json', { key: null })).body)
const model = 'test/instant/text-to-image'

async function openReference(hash = '', { signedIn = false } = {}): Promise<BrowserPage> {
  const page = await browser.openPage()
  if (signedIn) {
    await page.open(`${app.url}/docs#key=${app.account.key}`)
    await page.until(`document.querySelector('#account .wallet')`)
  }
  await page.open(`${app.url}/docs${hash}`)
  await page.until(`document.querySelector('.reference-page h1')`)
  return page
}

async function goTo(page: BrowserPage, hash: string, title: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  await page.until(`${textOf('.reference-page h1')} === ${JSON.stringify(title)}`)
}

test('the page is framed like the console, and loads a script of its own', async () => {
  const { status, headers, body } = await app.send('/docs', { key: null })
  expect(status).toBe(200)
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'self';/)
  expect(body).toMatch(/<script type="module" src="\/console\/docs\.[\w-]+\.js">/)
  expect(body).toContain('<a href="/docs" data-view="docs">API</a>')
})

inBrowser.for(['/problems/quote_expired', '/no/such/page'])(
  'who is signed in sees so at %s, and can leave there',
  async (path) => {
    await using page = await openReference('', { signedIn: true })
    await page.open(app.url + path)
    await page.until(`/\\d+ credits/.test(${textOf('#account .wallet')})`)
    expect(await page.evaluate(`document.querySelector('#navigation').hidden`)).toBe(false)
    await press(page, '#account button')
    await page.until(`${textOf('#account')} === 'Enter a key'`)
    await page.open(`${app.url}/`)
    await page.until(`document.querySelector('#key-field')`)
  },
)

inBrowser('on a phone the first screen leads to the form of a request', async () => {
  await using page = await openReference()
  await page.resize(390)
  await goTo(page, '#/operation/startGeneration', 'Start a generation')
  const top = (selector: string): string => `document.querySelector('${selector}').getBoundingClientRect().top`
  expect(await page.evaluate(top('.to-try'))).toBeLessThan(500)
  await press(page, '.to-try')
  await page.until(`${top('.try')} < 300 && document.activeElement.closest('.try')`)
  await page.resize(1440)
  expect(await page.evaluate(`document.querySelector('.to-try').offsetParent`)).toBeNull()
})

inBrowser('every operation and every webhook has a page that fits a phone, and nothing fails', async () => {
  await using page = await openReference()
  await page.resize(390)
  for (const { id, method, title } of operations) {
    await goTo(page, `#/${method === 'EVENT' ? 'event' : 'operation'}/${id}`, title)
    const wide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    expect([id, wide <= 0]).toEqual([id, true])
    const languages = method === 'EVENT' ? 0 : 3
    expect(await page.evaluate<number>(`document.querySelectorAll('.try .chip').length`)).toBeGreaterThanOrEqual(
      languages,
    )
  }
  expect(page.errors).toEqual([])
})

inBrowser('a search finds operations by what they do, take and refuse; Enter opens the first', async () => {
  await using page = await openReference()
  await page.resize(1280)
  await page.press('/')
  expect(await page.evaluate('document.activeElement.type')).toBe('search')
  await page.type('quote_mismatch')
  await page.until(`document.querySelectorAll('.contents li').length === 1`)
  await page.press('Enter')
  await page.until(`${textOf('.reference-page h1')} === 'Start a generation'`)
  expect(await page.evaluate(textOf('.contents a[aria-current=page]'))).toContain('Start a generation')
  await fill(page, '.contents input', 'zzqx')
  await page.until(`${textOf('.contents nav')}.includes('Nothing has these words')`)
})

inBrowser('a request is tried with the key that the reader enters', async () => {
  await using page = await openReference('#/operation/getWallet')
  await press(page, '.try-form button[type=submit]')
  await fill(page, 'dialog #key-field', app.account.key)
  await press(page, 'dialog button[type=submit]')
  await page.until(`!document.querySelector('dialog')`)
  await press(page, '.try-form button[type=submit]')
  await page.until(`${textOf('.answer')}?.includes('200')`)
  await page.until(`/"available": \\d+/.test(${textOf('.answer')})`)

  await goTo(page, '#/operation/getJob', 'Read a job')
  await fill(page, '.try-form input', 'job_none')
  expect(await page.evaluate(textOf('.code-tabs code'))).toContain('/v1/jobs/job_none')
  await press(page, '.try-form button[type=submit]')
  await page.until(`${textOf('.answer')}?.includes('job_not_found')`)
})

inBrowser('the events of a job are shown as they come, and a body that is not JSON is refused in words', async () => {
  const { body: job } = await app.generate(model, { prompt: 'x' })
  await using page = await openReference('#/operation/watchJob', { signedIn: true })
  await page.until(`${textOf('.reference-page h1')} === 'Watch a job'`)
  await fill(page, '.try-form input', job.job_id)
  await press(page, '.try-form button[type=submit]')
  await page.until(`${textOf('.answer')}?.includes('event: job')`)

  await goTo(page, '#/operation/createQuote', 'Price one input for one model')
  await fill(page, '.try-form textarea', '{"model": ')
  await page.until(`${textOf('.try .field-error')}?.includes('not JSON')`)
})

inBrowser('each model has a page with its own fields, its price and its code', async () => {
  await using page = await openReference(`#/model/${model}`, { signedIn: true })
  await page.until(`document.querySelector('.try-form .field')`)
  expect(await page.evaluate(textOf('.what'))).toContain('prompt')
  await fill(page, '.try-form textarea, .try-form input', 'a lighthouse')
  await page.until(`${textOf('.code-tabs code')}?.includes('a lighthouse')`)
  await press(page, '.try-form button[type=submit]')
  await page.until(`/credits? for this input/.test(${textOf('.try-form [role=status]')})`)
  expect(page.errors).toEqual([])
})
