// What an operator does with accounts and keys at /admin: every act is that of AdminService, in words, and asked first where it
// cannot be undone. P327, P328.
import { afterAll, beforeAll, expect } from 'vitest'
import { AccountStatus } from '../../gen/mediagen/v1/admin_pb.ts'
import {
  type AdminApp,
  columnOf,
  goTo,
  isClosed,
  isWhole,
  openAdmin,
  pressButton,
  startAdminApp,
  writeField,
} from './admin-page.ts'
import { inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
let admin: AdminApp

beforeAll(async () => {
  admin = await startAdminApp()
})

afterAll(() => admin[Symbol.asyncDispose]())

const dialogText = `document.querySelector('dialog[open]')?.innerText`
const people = ['Ada', 'Bo', 'Cem', 'Dua', 'Eli']
const secretsOf = `[...document.querySelectorAll('dialog[open] .secret')].map(({ textContent }) => textContent)`

inBrowser(
  'P328 five people get a key each with a monthly limit, shown once; then one sees who spent what',
  async () => {
    const { app } = admin
    await using page = await browser.openPage()
    await openAdmin(page, admin, '#/accounts')
    await pressButton(page, 'Create account')
    // What is missing is said at its field.
    await pressButton(page, 'Create account')
    expect(await page.until(textOf('dialog .field-error:not(:empty)'))).toBe('This is needed.')
    await writeField(page, 'Name', 'Studio')
    await writeField(page, 'Credits to begin with', '1,000')
    await pressButton(page, 'Create account')
    await page.until(`${isClosed} && ${textOf('h1')} === 'Studio' && ${isWhole}`)

    await pressButton(page, 'Create keys')
    await page.until(dialogText)
    await writeField(page, 'Names', people.join('\n'))
    await writeField(page, 'Credits a month', '50')
    await pressButton(page, 'Create')
    await page.until(`document.querySelectorAll('dialog .secret').length === 5`)
    const secrets = await page.evaluate<string[]>(secretsOf)
    expect(new Set(secrets).size).toBe(5)
    expect(secrets.every((secret) => /^mgk_\w{43}$/.test(secret))).toBe(true)
    // A slip of the hand does not lose them.
    await page.press('Escape')
    expect(await page.evaluate(secretsOf)).toEqual(secrets)
    await pressButton(page, 'Done')
    await page.until(`${isClosed} && ${columnOf(0, 'Keys')}.length === 5`)
    expect(await page.evaluate('document.documentElement.outerHTML')).not.toContain(secrets[0]?.slice(9))
    expect(await page.evaluate(columnOf(2, 'Keys'))).toEqual(people.map(() => '50 a month'))

    for (const [index, count] of [
      [0, 3],
      [1, 1],
    ] as const)
      for (let runs = 0; runs < count; runs += 1)
        await app.generate(
          'test/nothing/text-to-image',
          { prompt: 'x' },
          {
            account: { accountId: '', key: secrets[index] ?? '' },
            wait: true,
          },
        )
    await goTo(page, '#/usage?by=key')
    await page.until(`${columnOf(0)}.length === 2`)
    const rows = await page.evaluate<string[][]>(
      `[0, 1, 2, 4].map((at) => [${[0, 1, 2, 3, 4, 5].map((at) => columnOf(at)).join()}][at])`,
    )
    expect(rows).toEqual([
      ['Ada', 'Bo'],
      ['Studio', 'Studio'],
      ['3', '1'],
      ['9', '3'],
    ])
    expect(await page.evaluate(textOf('.usage-sum strong'))).toBe('12 credits')
    expect(await page.evaluate(`document.querySelector('.bars').ariaLabel`)).toMatch(
      /^12 credits from .* at most 12 on one day/,
    )
    expect(page.errors).toEqual([])
  },
)

inBrowser(
  'P327 an account is granted credits once, frozen with a reason, and closed for ever when that is confirmed',
  async () => {
    const { app } = admin
    const { account } = await app.admin.createAccount({ name: 'Print shop', credits: 10n })
    const accountId = account?.accountId ?? ''
    const read = async () => (await app.admin.inspectAccount({ accountId })).account
    await app.admin.createKey({ accountId, permissions: [2], name: 'till' })
    await using page = await browser.openPage()
    await openAdmin(page, admin, `#/accounts/${accountId}`)

    for (const isFirst of [true, false]) {
      await pressButton(page, 'Grant credits')
      await writeField(page, 'Credits', '500')
      await writeField(page, 'Reason', 'invoice 17')
      await writeField(page, 'Reference', 'pay_17')
      await pressButton(page, 'Grant')
      if (!isFirst) {
        await page.until(`${dialogText}.includes('granted before')`)
        await pressButton(page, 'Done')
      }
      await page.until(`${isClosed} && ${textOf('.figure')} === '510'`)
    }
    await pressButton(page, 'Correct balance')
    await writeField(page, 'Credits to add, or to take away with a minus', '-511')
    await writeField(page, 'Reason', 'granted twice')
    await pressButton(page, 'Correct the balance')
    await page.until(`${dialogText}.includes('At least -510.')`)
    await pressButton(page, 'Cancel')
    await page.until(isClosed)

    await pressButton(page, 'Freeze')
    await writeField(page, 'Reason', 'unpaid invoice 17')
    await pressButton(page, 'Freeze')
    await page.until(`${isClosed} && document.querySelector('.facts-list').innerText.includes('unpaid invoice 17')`)
    expect(await read()).toMatchObject({ status: AccountStatus.FROZEN, statusReason: 'unpaid invoice 17' })
    await pressButton(page, 'Unfreeze')
    await pressButton(page, 'Unfreeze')
    await page.until(`${isClosed} && document.querySelector('.facts-list .badge').textContent === 'active'`)

    await pressButton(page, 'Close')
    // The button that does no harm has the focus where there is nothing to fill in; here the reason has.
    await writeField(page, 'Reason', 'contract ended')
    await pressButton(page, 'Close the account')
    await page.until(`${dialogText}.includes('Tick this first.')`)
    expect(await read()).toMatchObject({ status: AccountStatus.ACTIVE })
    await press(page, 'dialog [type=checkbox]')
    await pressButton(page, 'Close the account')
    await page.until(`${dialogText}.includes('1 key was revoked')`)
    await pressButton(page, 'Done')
    await page.until(`document.querySelector('.facts-list .badge').textContent === 'closed'`)
    expect(await read()).toMatchObject({ status: AccountStatus.CLOSED, statusReason: 'contract ended' })

    // The audit log says who did it: the key of this page.
    await goTo(page, `#/audit?account=${accountId}`)
    const acts = await page.until<string[]>(`${columnOf(2)}.length === 7 && ${columnOf(2)}`)
    expect(acts.map((act) => act.split(' ')[0])).toEqual([
      'account.closed',
      'key.revoked',
      'account.unfrozen',
      'account.frozen',
      'credits.granted',
      'key.created',
      'account.created',
    ])
    expect(page.errors).toEqual([])
  },
)

inBrowser('P329 a key is limited and revoked by the keyboard alone', async () => {
  const { app } = admin
  const { accountId } = app.account
  const { key } = await app.admin.createKey({ accountId, permissions: [2], name: 'keyboard' })
  await using page = await browser.openPage()
  await openAdmin(page, admin, '#/keys')
  const focused = `document.activeElement?.closest('tr, dialog, nav, header, form, main')?.innerText + '|' + (document.activeElement?.innerText ?? '')`
  /** Tabs until the focus is on something. */
  const tabTo = async (condition: string): Promise<void> => {
    for (let tabs = 0; tabs < 60; tabs += 1) {
      if (await page.evaluate(condition)) return
      await page.press('Tab')
    }
    throw new Error(`never reached ${condition}: ${await page.evaluate<string>(focused)}`)
  }
  const onButton = (words: string): string =>
    `document.activeElement?.innerText === '${words}' && document.activeElement.closest('tr')?.innerText.includes('keyboard')`
  await tabTo(onButton('Limits'))
  await page.press('Enter')
  await page.until(`document.activeElement?.closest('dialog')`)
  await page.type('77')
  await page.press('Enter')
  await page.until(isClosed)
  // The focus is back where it was.
  await expect
    .poll(
      async () =>
        (await app.admin.listKeys({ accountId })).keys.find((one) => one.keyId === key?.keyId)?.limits?.monthly,
    )
    .toBe(77n)
  await page.until(`document.querySelector('main').innerText.includes('77 a month')`)
  await tabTo(onButton('Revoke'))
  await page.press('Enter')
  await page.until(`document.querySelector('dialog[open]')`)
  // Nothing that cannot be undone happens by one more Enter.
  expect(await page.evaluate('document.activeElement.innerText')).toBe('Cancel')
  await page.press('Escape')
  await page.until(isClosed)
  expect(await page.evaluate(onButton('Revoke'))).toBe(true)
  await page.press('Enter')
  await tabTo(`document.activeElement?.innerText === 'Revoke the key'`)
  await page.press('Enter')
  await page.until(isClosed)
  await expect
    .poll(async () => (await app.admin.listKeys({ accountId })).keys.find((one) => one.keyId === key?.keyId)?.revokedAt)
    .toBeDefined()
  expect(page.errors).toEqual([])
})
