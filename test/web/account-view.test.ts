// The pages of the account: an overview, keys that customers make, change and revoke, what was charged, and the limits.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { toPermissionCode } from '../../src/services/messages/convert.ts'
import { formatSpan } from '../../web/account/account-view.ts'
import { startTestApp, type TestApp } from '../test-app.ts'
import type { BrowserPage } from './browser-page.ts'
import { fill, inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
let app: TestApp

beforeAll(async () => {
  app = await startTestApp({
    MEDIAGEN_RATE_LIMIT: '70',
    MEDIAGEN_MAX_QUEUED_JOBS: '6000',
    MEDIAGEN_RETAIN_HOURS: '48',
    MEDIAGEN_CREDIT_PRICE: '0.01 EUR',
  })
})

afterAll(() => app[Symbol.asyncDispose]())

const instant = 'test/instant/text-to-image'
const textsOf = (selector: string) =>
  `[...document.querySelectorAll(${JSON.stringify(selector)})].map(({ textContent }) => textContent)`
const limitsOf = `Object.fromEntries([...document.querySelectorAll('.limits div')].map(({ children: [name, value] }) => [name.textContent, value.textContent]))`
const say = (page: BrowserPage, words: string, within = 'main') =>
  page.until(
    `(() => { const one = [...document.querySelectorAll('${within} button')].find(({ textContent, hidden }) => textContent === ${JSON.stringify(words)} && !hidden); one?.click(); return one })() !== undefined`,
  )
const run = (key: string, model: string, labels: string) =>
  app.send('/v1/run?wait=true', {
    key,
    headers: { 'idempotency-key': crypto.randomUUID(), 'mediagen-labels': labels },
    body: { model, input: { prompt: 'x' }, max_credits: 10 },
  })

inBrowser('the overview says what the account has, and folds the limits of the server', async () => {
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}`)
  await page.until(`document.querySelector('nav:not([hidden]) [data-view=account]')`)
  await press(page, '[data-view=account]')
  await page.until(`document.querySelectorAll('.big-figure').length === 2`)
  expect(await page.evaluate(textOf('h1'))).toBe('test')
  expect(await page.evaluate(textsOf('.tabs a'))).toEqual(['Overview', 'Usage', 'Credits', 'Keys', 'Webhooks'])
  expect(await page.evaluate(textsOf('.overview h2'))).toEqual([
    'Credits',
    'The key in use here',
    'This month',
    'Keys',
    'Webhooks',
  ])
  expect(await page.evaluate(`document.querySelector('.server-limits').open`)).toBe(false)
  expect(await page.evaluate(limitsOf)).toMatchObject({
    'Requests with this key': '70 a second',
    'Data in requests with this key': 'no limit',
    'Generations in the queue': '6,000',
    'Files are kept for': '2 days',
  })
  expect(page.errors).toEqual([])
})

inBrowser('P333 a key is made, its text shown once, its limits changed, and revoked after a question', async () => {
  const account = await app.createAccount(100)
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${account.key}&/keys`)
  await say(page, 'Make a key')
  await page.until(`document.activeElement?.matches('dialog input')`)
  await page.type('print shop')
  expect(await page.evaluate(textsOf('dialog .check label'))).not.toContain(expect.stringContaining('Make keys'))
  await page.evaluate(`document.querySelector('dialog .more-fields').open = true`)
  await fill(page, 'dialog .day-field input', '2020-01-01')
  await press(page, 'dialog [type=submit]')
  expect(await page.until(textOf('dialog .day-field .field-error'))).toMatch(/^Choose 20\d\d-\d\d-\d\d or later\.$/)
  await fill(page, 'dialog .day-field input', '2099-12-31')
  await fill(page, 'dialog .credit-fields > div:nth-child(2) input', 'many')
  await press(page, 'dialog [type=submit]')
  await page.until(`${textOf('dialog .credit-fields > div:nth-child(2) .field-error')} === 'Write whole credits.'`)
  await fill(page, 'dialog .credit-fields > div:nth-child(2) input', '50')
  await press(page, 'dialog [type=submit]')
  const secret = await page.until<string>(textOf('.secret'))
  expect(secret).toMatch(/^mgk_/)
  const { body: made } = await app.send('/v1/key', { key: secret })
  expect(made).toMatchObject({ name: 'print shop', permissions: ['generate', 'models:read', 'jobs:read'] })
  expect([made.limits.daily, made.expires_at.slice(0, 4)]).toEqual([50, expect.stringMatching(/2099|2100/)])
  // A click beside it does not lose it.
  await page.evaluate(`document.querySelector('dialog').click()`)
  await press(page, 'dialog [aria-label=Close]')
  await page.until(`!document.querySelector('dialog')`)
  expect(await page.evaluate('document.body.textContent')).not.toContain(secret.slice(8))
  await page.until(`${textOf('.key-list h2')}.startsWith('print shop')`)

  await say(page, 'Change limits')
  await fill(page, 'dialog .credit-fields > div:nth-child(2) input', '20')
  await press(page, 'dialog [type=submit]')
  await page.until(`${textOf('.key-list li')}.includes('20 credits a day')`)

  await say(page, 'Revoke')
  await page.until(`document.activeElement?.textContent === 'Keep it'`)
  await press(page, 'dialog .quiet')
  await page.until(`!document.querySelector('dialog')`)
  expect((await app.send('/v1/key', { key: secret })).status).toBe(200)
  await say(page, 'Revoke')
  await press(page, 'dialog .danger')
  await page.until(`document.querySelector('.ended-keys [data-state=revoked]')`)
  await expect.poll(async () => (await app.send('/v1/key', { key: secret })).status).toBe(401)
  await page.resize(360)
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  expect(page.errors).toEqual([])
})

inBrowser('a key that may make no others is told what to do, and changes none', async () => {
  const { accountId } = await app.createAccount(0)
  const permissions = [toPermissionCode('wallet:read')]
  await app.admin.createKey({ accountId, permissions: [toPermissionCode('generate')], name: 'other' })
  const { secret } = await app.admin.createKey({ accountId, permissions })
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${secret}&/keys`)
  expect(await page.until(textOf('.keys .notice'))).toContain(
    `mediagen admin keys create --account ${accountId} --permissions wallet:read,keys:write`,
  )
  expect(await page.evaluate(`document.querySelectorAll('.key-list li').length`)).toBe(3)
  expect(
    await page.evaluate(`document.querySelectorAll('.key-list button, .head-row button:not([hidden])').length`),
  ).toBe(0)
})

inBrowser('a key that may see nothing else sees itself and its limits', async () => {
  const key = await app.createKey(app.account.accountId, ['models:read'])
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${key}&/account`)
  await page.until(`document.querySelector('.limits')`)
  expect(await page.evaluate(textsOf('.overview h2'))).toEqual(['The key in use here'])
})

inBrowser('what was charged is shown by day, model, key and label, in credits and money', async () => {
  const account = await app.createAccount(100)
  await run(account.key, instant, 'team=ads')
  await run(account.key, instant, 'team=shop')
  await run(account.key, 'test/failing/text-to-image', 'team=shop')
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${account.key}&/usage`)
  const { sum } = (await app.send('/v1/usage', account)).body
  await page.until(`document.querySelector('.usage-table tbody tr')`)
  expect(await page.evaluate(textsOf('.figures b'))).toEqual([String(sum.charged), `€${sum.cost.amount}`, '3'])
  expect(await page.evaluate(`document.querySelector('.chart-plot').ariaLabel`)).toMatch(
    new RegExp(`^Credits charged by day in .* 20\\d\\d: ${sum.charged} credits in all\\.$`),
  )
  expect(await page.evaluate(`document.querySelectorAll('.chart-column i:not(.none)').length`)).toBe(1)
  await page.until(`document.querySelectorAll('.chip').length === 4`)
  await page.evaluate(`[...document.querySelectorAll('.chip')].at(-1).click()`)
  await page.until(`${textOf('.usage-table thead th')} === 'team'`)
  expect((await page.evaluate<string[]>(textsOf('.usage-table tbody th'))).toSorted()).toEqual(['ads', 'shop'])
  // The months before are empty, and say so.
  await press(page, '.month-chooser button')
  await page.until(`${textOf('.nothing-yet h2')} === 'Nothing in this month'`)
  expect(page.errors).toEqual([])

  await page.evaluate(`location.hash = '#/wallet'`)
  await page.until(`document.querySelectorAll('.ledger tbody tr').length === 4`)
  await page.evaluate(
    `{ const model = document.querySelector('select'); model.value = '${instant}'; model.dispatchEvent(new Event('change')) }`,
  )
  await page.until(`document.querySelectorAll('.ledger tbody tr').length === 2`)
})

test('a span is said in the largest unit that is exact', () => {
  expect([604_800, 86_400, 5400, 90, 1].map(formatSpan)).toEqual([
    '7 days',
    '1 day',
    '90 minutes',
    '90 seconds',
    '1 second',
  ])
})
