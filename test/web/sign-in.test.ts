// P335, P337: a person signs in at a real provider with a real browser, and pages of others get nothing by their session.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { createBrowser, startProvider } from '../sign-in/provider.ts'
import { startTestApp } from '../test-app.ts'
import { inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
const signedOut = `document.querySelector('#key-field')`

inBrowser('a person signs in, works, stays signed in, and signs out in every tab', async () => {
  await using base = await startTestApp()
  const urls: string[] = []
  await using provider = await startProvider(() => urls.map((url) => `${url}/sign-in/callback`))
  provider.person = { subject: 'ann', claims: { email: 'ann@example.com', email_verified: true } }
  await using app = await startTestApp({
    ...provider.settings,
    MEDIAGEN_OIDC_ACCESS: `domain:example.com=${base.account.accountId}:generate,models:read,jobs:read,wallet:read`,
    MEDIAGEN_DATA_DIR: base.config.dataDir,
  })
  urls.push(app.url)
  await using page = await browser.openPage()
  await page.open(`${app.url}/#/account`)
  await page.until(`document.querySelector('.sign-in a')`)
  expect(await page.evaluate(textOf('.sign-in a'))).toBe(`Sign in with ${new URL(provider.issuer).host}`)
  await press(page, '.sign-in a')
  await page.until(`${textOf('.person')} === 'ann@example.com' && location.hash === '#/account'`)
  await page.evaluate(`location.hash = '#/keys'`)
  await page.until(
    `[...document.querySelectorAll('.key-words h2')].some((row) => row.textContent.startsWith('ann@example.com signs in'))`,
  )
  expect(await page.evaluate('document.cookie')).toBe('')

  // P375: the person sees another browser of theirs, and signs it out.
  const phone = createBrowser('Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Safari/604.1')
  await phone.follow(`${app.url}/sign-in`)
  await page.evaluate(`location.hash = '#/account'`)
  const browsers = `[...document.querySelectorAll('.session-list strong')].map(({ textContent }) => textContent)`
  await page.until(`${browsers}[0] === 'Safari on iPhone' && ${browsers}.length === 2`)
  await press(page, '.session-list li:first-child button')
  await page.until(`${browsers}.length === 1 && ${textOf('.session-list .badge')} === 'this browser'`)
  await expect.poll(async () => (await phone.fetch(`${app.url}/v1/wallet`)).status).toBe(401)
  await page.evaluate(`location.hash = '#/'`)
  await page.until(`document.querySelectorAll('.product').length > 2`)
  await page.reload()
  await page.until(`document.querySelectorAll('.product').length > 2`)

  // A page on another port of the host: the browser sends it the cookie, because to browsers that is the same site.
  const other = createServer((_request, response) => response.setHeader('content-type', 'text/html').end('<p>'))
  await using _ = { [Symbol.asyncDispose]: async () => other.close().closeAllConnections() }
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  await using foreign = await browser.openPage()
  await foreign.open(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`)
  const send = (path: string, init: string) =>
    foreign.evaluate(
      `fetch('${app.url}${path}', { credentials: 'include', ${init} }).then(({ type }) => type, () => 'failed')`,
    )
  expect(await send('/v1/wallet', '')).toBe('failed')
  expect(await send('/sign-out', `method: 'POST', mode: 'no-cors'`)).toBe('opaque')
  expect(
    await foreign.evaluate(`fetch('${app.url}/sign-in/state', { credentials: 'include' }).catch(() => 'failed')`),
  ).toBe('failed')

  await using second = await browser.openPage()
  await second.open(`${app.url}/docs#/model/test/instant/text-to-image`)
  await second.until(
    `${textOf('h1')} !== undefined && document.querySelector('#account .wallet strong')?.textContent === '1,000'`,
  )
  await second.open(`${app.url}/#/library`)
  await second.until(`${textOf('.person')} === 'ann@example.com'`)
  await press(page, '.account .button')
  await page.until(signedOut)
  await second.until(signedOut)
  expect((await app.admin.listSessions({ working: true })).total).toBe(0)
  expect(page.errors).toEqual([])
})
