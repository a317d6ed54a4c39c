// The page of the account: what the server says of its keys, its webhooks and its limits.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { toPermissionCode } from '../../src/services/messages/convert.ts'
import { formatSpan } from '../../web/account/account-view.ts'
import { startTestApp, type TestApp } from '../test-app.ts'
import { inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
let app: TestApp

beforeAll(async () => {
  app = await startTestApp({
    MEDIAGEN_RATE_LIMIT: '70',
    MEDIAGEN_MAX_QUEUED_JOBS: '6000',
    MEDIAGEN_RETAIN_HOURS: '48',
  })
})

afterAll(() => app[Symbol.asyncDispose]())

const cellsOf = (selector: string) =>
  `[...document.querySelectorAll('${selector}')].map(({ cells }) => [...cells].map(({ textContent }) => textContent))`
const limitsOf = `Object.fromEntries([...document.querySelectorAll('.limits div')].map(({ children: [name, value] }) => [name.textContent, value.textContent]))`

inBrowser(
  'keys are shown by their name and beginning, with their last use; limits are those of the server',
  async () => {
    const { accountId, key } = app.account
    const permissions = [toPermissionCode('generate'), toPermissionCode('jobs:read')]
    const shop = await app.admin.createKey({ accountId, permissions, name: 'print shop' })
    const old = await app.admin.createKey({ accountId, permissions, name: 'old' })
    await app.admin.revokeKey({ keyId: old.key?.keyId ?? '' })
    await using page = await browser.openPage()
    await page.open(`${app.url}/#key=${key}`)
    await page.until(`document.querySelector('nav:not([hidden]) [data-view=account]')`)
    await press(page, '[data-view=account]')
    await page.until(`document.querySelectorAll('.keys tbody tr').length === 3`)
    expect(await page.evaluate(textOf('h1'))).toBe('test')
    expect(await page.evaluate(cellsOf('.keys tbody tr'))).toEqual([
      [`old ${old.secret.slice(0, 8)}…`, 'generate, see generations', 'just now', 'never', 'revoked just now'],
      [`print shop ${shop.secret.slice(0, 8)}…`, 'generate, see generations', 'just now', 'never', 'active'],
      [`${key.slice(0, 8)}…`, expect.stringContaining('see credits and keys'), 'just now', 'now, here', 'active'],
    ])
    await page.resize(360)
    expect(
      await page.evaluate(
        `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.wide-table'))`,
      ),
    ).toBe(0)
    expect(await page.evaluate(limitsOf)).toMatchObject({
      'Requests with this key': '70 a second',
      'Data in requests with this key': 'no limit',
      'Generations in the queue': '6,000',
      'Files are kept for': '2 days',
    })
    expect(await page.evaluate(textOf('.account-parts section:nth-child(3)'))).toContain(
      'This account has no webhooks. How to register one',
    )
    for (const secret of [key, shop.secret])
      expect(await page.evaluate('document.body.textContent')).not.toContain(secret.slice(8))
    expect(page.errors).toEqual([])
  },
)

inBrowser('a key that may see nothing else sees itself and its limits', async () => {
  const key = await app.createKey(app.account.accountId, ['models:read'])
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${key}&/account`)
  await page.until(`document.querySelector('.limits')`)
  expect(
    await page.evaluate(`[...document.querySelectorAll('.account-parts h2')].map(({ textContent }) => textContent)`),
  ).toEqual(['Your key', 'Limits'])
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
