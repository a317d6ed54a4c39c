// Every page of the operator's console in a state worth looking at, and its dialogs; for axe and for pictures of them.
import { randomBytes } from 'node:crypto'
import { toPermissionCode } from '../../src/services/messages/convert.ts'
import { openStoreOf } from '../test-store.ts'
import { type AdminApp, goTo, isWhole, openAdmin, pressButton } from './admin-page.ts'
import type { BrowserPage } from './browser-page.ts'
import type { Go } from './places.ts'

/** What the pages are about. */
export interface AdminIds {
  readonly account: string
  readonly job: string
}

/** Gives a server accounts, keys, jobs in every state and deliveries. */
export async function fillServer({ app, hooks }: AdminApp): Promise<AdminIds> {
  const { accountId } = app.account
  const print = await app.admin.createAccount({ name: 'Print shop with quite a long name', credits: 0n })
  await app.admin.grantCredits({
    accountId: print.account?.accountId ?? '',
    credits: 50n,
    note: 'invoice 17',
    reference: 'pay_17',
  })
  await app.admin.freezeAccount({ accountId: print.account?.accountId ?? '', reason: 'unpaid' })
  const old = await app.admin.createKey({ accountId, permissions: [toPermissionCode('generate')], name: 'old laptop' })
  await app.admin.revokeKey({ keyId: old.key?.keyId ?? '' })
  const limits = { monthly: 500n, models: ['test', 'builtin/image'] }
  await app.admin.createKey({ accountId, permissions: [toPermissionCode('generate')], name: 'print shop', limits })
  await signInPeople(app.config.dataDir, accountId)
  await hooks.register(`${app.url}/hook`)
  await app.generate('builtin/image/art/text-to-image', { prompt: 'aurora', width: 256, height: 256 }, { wait: true })
  const failed = await app.generate('test/failing/text-to-image', { prompt: 'a broken lamp' }, { wait: true })
  const gate = app.gate()
  for (let count = 0; count < 6; count += 1) await app.generate('test/gate/text-to-image', gate.input, { wait: false })
  await gate.begun()
  return { account: accountId, job: failed.body.job_id }
}

/** People with sessions, as if a provider had vouched for them. */
async function signInPeople(dataDir: string, accountId: string): Promise<void> {
  await using store = await openStoreOf(dataDir)
  for (const [name, browser] of [
    ['ann@example.com', 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'],
    ['someone.with-a-long-name@department.example.com', 'Mozilla/5.0 (Macintosh) Version/18.0 Safari/605.1.15'],
  ] as const)
    await store.signIn({
      issuer: 'https://login.example',
      subject: name,
      name,
      facts: { email: name, groups: [] },
      accountId,
      permissions: ['generate'],
      terms: 'terms',
      tokenHash: randomBytes(32),
      stateHash: randomBytes(32),
      keyHash: randomBytes(32),
      lastsMs: 43_200_000,
      address: '2001:db8::17',
      browser,
    })
}

/** The pages by name, in an order in which one can go through them. */
export function adminPlacesOf(admin: AdminApp, { account, job }: AdminIds): Readonly<Record<string, Go>> {
  const at =
    (hash: string): Go =>
    async (page) => {
      await page.evaluate(`document.querySelector('dialog[open]')?.close()`)
      await goTo(page, hash)
      await page.until(isWhole)
    }
  const dialog =
    (hash: string, label: string): Go =>
    async (page: BrowserPage) => {
      await at(hash)(page)
      await pressButton(page, label)
      await page.until(`document.querySelector('dialog[open]')`)
    }
  return {
    'sign-in': async (page) => {
      await page.open(`${admin.app.url}/admin`)
      await page.until(`document.querySelector('#key-field')`)
    },
    overview: (page) => openAdmin(page, admin),
    accounts: at('#/accounts'),
    'accounts-create': dialog('#/accounts', 'Create account'),
    account: at(`#/accounts/${account}`),
    'account-close': dialog(`#/accounts/${account}`, 'Close'),
    keys: at('#/keys'),
    'keys-create': dialog('#/keys', 'Create keys'),
    'keys-limits': dialog('#/keys', 'Limits'),
    sessions: at('#/sessions'),
    'sessions-end-all': dialog('#/sessions', 'End all'),
    usage: at('#/usage'),
    'usage-by-model': at('#/usage?by=model&period=30'),
    'usage-of-nothing': at('#/usage?period=days&from=2020-01-01&to=2020-01-31'),
    jobs: at('#/jobs'),
    'jobs-cancel': dialog('#/jobs?status=queued', 'Cancel'),
    job: at(`#/jobs/${job}`),
    'job-unknown': async (page) => {
      await page.evaluate(`document.querySelector('dialog[open]')?.close()`)
      await page.evaluate(`location.hash = '#/jobs/job_none'`)
      await page.until(`document.querySelector('.failure .notice')`)
    },
    reviews: at('#/reviews'),
    models: at('#/models'),
    webhooks: at('#/webhooks'),
    files: at('#/files'),
    audit: at('#/audit'),
  }
}
