// Who gets into the operator's console: keys with the permission admin, which it keeps apart from those of users. P326.
import { afterAll, beforeAll, expect } from 'vitest'
import { createBrowser, startProvider } from '../sign-in/provider.ts'
import { startTestApp } from '../test-app.ts'
import { type AdminApp, columnOf, isWhole, pressButton, startAdminApp } from './admin-page.ts'
import { fill, inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
let admin: AdminApp

beforeAll(async () => {
  admin = await startAdminApp()
})

afterAll(() => admin[Symbol.asyncDispose]())

const asksForKey = `document.querySelector('#key-field')`
const stored = `JSON.stringify([{ ...localStorage }, { ...sessionStorage }])`

inBrowser("P326 a customer's key is refused in words, and nothing is shown", async () => {
  const { app } = admin
  await using page = await browser.openPage()
  await page.open(`${app.url}/admin#key=${app.account.key}&/accounts`)
  expect(await page.until(textOf('#key-error'))).toBe(
    'It lacks the permission “admin”. Use another key, or ask whoever runs this server.',
  )
  const shown = `document.querySelectorAll('.admin, .admin-nav, .admin-page, table').length`
  expect(await page.evaluate(shown)).toBe(0)
  expect(await page.evaluate(stored)).not.toContain(app.account.key)
  // Nor when it is typed.
  await fill(page, '#key-field', app.account.key)
  await press(page, '.key-form button')
  await page.until(`${textOf('#key-error')}.includes('admin')`)
  expect(await page.evaluate(shown)).toBe(0)
  for (const [key, words] of [
    [`mgk_${'0'.repeat(43)}`, /unknown/],
    ['mgk_…', /not an API key/],
  ] as const) {
    await fill(page, '#key-field', key)
    await press(page, '.key-form button')
    await page.until(`!document.querySelector('.key-form button').disabled`)
    await expect.poll(() => page.evaluate(textOf('#key-error'))).toMatch(words)
  }
})

inBrowser("an operator's key is kept for this page and not for the users' console, until it is revoked", async () => {
  const { app } = admin
  const { accountId } = app.account
  const { key, secret } = await app.admin.createKey({ accountId, permissions: [6] })
  await using page = await browser.openPage()
  await page.open(`${app.url}/admin`)
  await fill(page, '#key-field', secret)
  await press(page, '.key-form button')
  await page.until(isWhole)
  expect(await page.evaluate('location.href')).toBe(`${app.url}/admin`)
  await page.reload()
  await page.until(isWhole)
  await using other = await browser.openPage()
  await other.open(`${app.url}/admin#/jobs`)
  await other.until(isWhole)
  await using user = await browser.openPage()
  await user.open(`${app.url}/`)
  await user.until(asksForKey)

  await app.admin.revokeKey({ keyId: key?.keyId ?? '' })
  await page.until(asksForKey)
  await other.until(asksForKey)
  // The tab that noticed says why; it signs the other one out.
  const said = await Promise.all([page, other].map((tab) => tab.evaluate<string>(textOf('#key-error'))))
  expect(said.join('')).toMatch(/revoked/)
  expect(await page.evaluate(`document.querySelectorAll('.admin').length`)).toBe(0)
  expect(page.errors.filter((error) => !error.includes('401'))).toEqual([])
})

inBrowser('signing out leaves nothing behind, and an address that is no page leads back', async () => {
  await using page = await browser.openPage()
  await page.open(`${admin.app.url}/admin#key=${admin.key}&/nothing-here`)
  expect(await page.until(textOf('h1'))).toBe('There is no such page.')
  await page.evaluate(`document.querySelector('.admin-place a').click()`)
  await page.until(`${textOf('h1')} === 'Overview'`)
  await press(page, '[aria-label="Sign out"]')
  await page.until(asksForKey)
  expect(await page.evaluate(stored)).not.toContain(admin.key)
  expect(page.errors).toEqual([])
})

inBrowser('P326 a person who may administer signs in without a key; another one is refused in words', async () => {
  await using base = await startTestApp()
  const urls: string[] = []
  await using provider = await startProvider(() => urls.map((url) => `${url}/sign-in/callback`))
  const toPerson = (name: string) => ({
    subject: name,
    claims: { email: `${name}@example.com`, email_verified: true },
  })
  const { accountId } = base.account
  await using app = await startTestApp({
    ...provider.settings,
    MEDIAGEN_OIDC_ACCESS: `email:ann@example.com=${accountId}:admin;domain:example.com=${accountId}:generate,models:read`,
    MEDIAGEN_DATA_DIR: base.config.dataDir,
  })
  urls.push(app.url)
  await using page = await browser.openPage()
  for (const name of ['bob', 'ann']) {
    provider.person = toPerson(name)
    await page.open(`${app.url}/admin#/accounts`)
    await page.until(`document.querySelector('.sign-in a')`)
    await press(page, '.sign-in a')
    if (name === 'bob') {
      expect(await page.until(textOf('#key-error:not(:empty)'))).toMatch(/lacks the permission “admin”/)
      expect(await page.evaluate(`document.querySelectorAll('.admin').length`)).toBe(0)
    }
  }
  await page.until(`${textOf('.person')} === 'ann@example.com' && location.hash === '#/accounts' && ${isWhole}`)
  await page.reload()
  await page.until(isWhole)
  await press(page, '[aria-label="Sign out"]')
  await page.until(asksForKey)
  await page.reload()
  await page.until(asksForKey)
})

inBrowser('P379 an operator sees who is signed in and where, ends one session, and all of a person', async () => {
  await using base = await startTestApp()
  const urls: string[] = []
  await using provider = await startProvider(() => urls.map((url) => `${url}/sign-in/callback`))
  const { accountId } = base.account
  await using app = await startTestApp({
    ...provider.settings,
    MEDIAGEN_OIDC_ACCESS: `email:ann@example.com=${accountId}:admin;domain:example.com=${accountId}:generate,wallet:read`,
    MEDIAGEN_DATA_DIR: base.config.dataDir,
  })
  urls.push(app.url)
  const become = (name: string) => {
    provider.person = { subject: name, claims: { email: `${name}@example.com`, email_verified: true } }
  }
  become('bob')
  const laptop = createBrowser('Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0')
  const phone = createBrowser(
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1',
  )
  for (const one of [laptop, phone]) await one.follow(`${app.url}/sign-in`)
  const statusOf = async (one: typeof phone) => (await one.fetch(`${app.url}/v1/wallet`)).status
  expect([await statusOf(laptop), await statusOf(phone)]).toEqual([200, 200])

  become('ann')
  await using page = await browser.openPage()
  await page.open(`${app.url}/admin#/sessions`)
  await page.until(`document.querySelector('.sign-in a')`)
  await press(page, '.sign-in a')
  await page.until(`${columnOf(0)}.length === 3`)
  expect((await page.evaluate<string[]>(columnOf(0))).map((who) => who.replace(/ ?sess_\w+/, ''))).toEqual([
    'ann@example.com you, here',
    'bob@example.com',
    'bob@example.com',
  ])
  expect((await page.evaluate<string[]>(columnOf(2))).slice(1)).toEqual([
    'Safari on iPhone from 127.0.0.1',
    'Firefox on Linux from 127.0.0.1',
  ])
  const actOn = (row: number, label: string) =>
    page.evaluate(
      `[...document.querySelectorAll('.admin-table tbody tr')][${row}].querySelectorAll('button').forEach((one) => one.textContent === '${label}' && one.click())`,
    )
  await actOn(1, 'End')
  await pressButton(page, 'End the session')
  await page.until(`${columnOf(0)}.length === 2`)
  await expect.poll(() => statusOf(phone)).toBe(401)
  expect(await statusOf(laptop)).toBe(200)
  await actOn(1, 'End all')
  await pressButton(page, 'End all sessions')
  await page.until(`document.querySelector('dialog[open]')?.innerText.includes('1 session ended.')`)
  await pressButton(page, 'Done')
  await expect.poll(() => statusOf(laptop)).toBe(401)
  await page.until(`${columnOf(0)}.length === 1`)
  // Each is on record, by the key of the person who did it.
  await page.evaluate(`location.hash = '#/audit?act=session'`)
  await page.until(`${columnOf(2)}.length === 2 && ${columnOf(2)}.every((act) => act.startsWith('session.revoked'))`)
  // Of those that have ended, too.
  await page.evaluate(`location.hash = '#/sessions?show=all'`)
  await page.until(`${columnOf(5)}.join().replaceAll(/ ends in \\d+ h/g, '') === 'signed in,ended,ended'`)
  expect(page.errors).toEqual([])
})
