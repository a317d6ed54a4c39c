// What tests of the operator's console share: a server with a key of an operator, its page, and what one does there.
import type { Overrides } from '../../src/app/app.ts'
import type { TestApp } from '../test-app.ts'
import { startWebhookApp, type WebhookApp } from '../webhooks/webhook-app.ts'
import type { BrowserPage } from './browser-page.ts'

/** A server, and the key of its operator. */
export interface AdminApp extends AsyncDisposable {
  readonly hooks: WebhookApp
  readonly app: TestApp
  readonly key: string
}

/** Starts a server with an operator. */
export async function startAdminApp(
  settings: Readonly<Record<string, string>> = {},
  overrides: Overrides = {},
): Promise<AdminApp> {
  const hooks = await startWebhookApp(settings, overrides)
  const { app } = hooks
  const key = await app.createKey(app.account.accountId, ['admin'])
  return { hooks, app, key, [Symbol.asyncDispose]: () => hooks[Symbol.asyncDispose]() }
}

/** An expression: whether the page shows what it has read. */
export const isWhole = `document.querySelector('.admin-page') && !document.querySelector('[aria-busy=true]')`

/** Opens the console as its operator. */
export async function openAdmin(page: BrowserPage, { app, key }: AdminApp, hash = '#/'): Promise<void> {
  await page.open(`${app.url}/admin#key=${key}&${hash.slice(1)}`)
  await page.until(isWhole)
}

/** Goes to another page of the console. */
export async function goTo(page: BrowserPage, hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  await page.until(`location.hash === ${JSON.stringify(hash)} && ${isWhole}`)
}

const toButton = (label: string): string =>
  `[...(document.querySelector('dialog[open]') ?? document.querySelector('main')).querySelectorAll('button')].find((one) => (one.getAttribute('aria-label') ?? one.textContent) === ${JSON.stringify(label)})`

/** Presses a button by its words: in the open dialog, if there is one. */
export async function pressButton(page: BrowserPage, label: string): Promise<void> {
  await page.until(`${toButton(label)} && !${toButton(label)}.disabled`)
  await page.evaluate(`${toButton(label)}.click()`)
}

/** Writes into a field of the open dialog, by its label. */
export function writeField(page: BrowserPage, label: string, value: string): Promise<unknown> {
  return page.until(`(() => {
    const label = [...document.querySelectorAll('dialog[open] label')].find((one) => one.firstChild?.textContent === ${JSON.stringify(label)})
    const field = document.getElementById(label.htmlFor)
    if (field.tagName === 'SELECT') field.value = [...field.options].find((one) => one.textContent === ${JSON.stringify(value)}).value
    else field.value = ${JSON.stringify(value)}
    return field.value !== '' || ${JSON.stringify(value)} === ''
  })()`)
}

/** An expression: whether no dialog is open. */
export const isClosed = `!document.querySelector('dialog[open]')`

/** An expression: the texts of a column of the first table, or of that under a heading. */
export function columnOf(index: number, heading = ''): string {
  const place =
    heading === ''
      ? `document.querySelector('.admin-table')`
      : `[...document.querySelectorAll('.admin-section')].find((one) => one.querySelector('h2').textContent === ${JSON.stringify(heading)})`
  return `[...${place}.querySelectorAll('tbody tr')].map(({ cells }) => cells[${index}].innerText.replaceAll(/\\s+/g, ' ').trim())`
}
