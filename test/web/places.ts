// Every page of the console in a state worth looking at, for axe and for pictures of them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { toPermissionCode } from '../../src/services/messages/convert.ts'
import type { TestApp } from '../test-app.ts'
import type { WebhookApp } from '../webhooks/webhook-app.ts'
import type { BrowserPage } from './browser-page.ts'
import { fill, press } from './browser-tests.ts'

/** Ids of jobs, by how they are. */
export type Jobs = Readonly<Record<'picture' | 'sound' | 'film' | 'failed' | 'running' | 'deleted', string>>

/** Goes to a page, and waits until it is whole. */
export type Go = (page: BrowserPage) => Promise<void>

const art = 'builtin/image/art/text-to-image'
const instant = 'test/instant/text-to-image'

/** Gives the account of a server something of each kind. */
export async function fillAccount({ app, register }: WebhookApp): Promise<Jobs> {
  const { accountId, key } = app.account
  await app.send('/v1/keys', { body: { permissions: ['models:read'], name: 'guest', limits: { daily: 20 } } })
  const make = async (model: string, input: object, wait = true): Promise<string> =>
    (await app.generate(model, input, { wait })).body.job_id
  const sound = await make('builtin/audio/speech/text-to-speech', { text: 'A lighthouse at dusk.' })
  const film = await make('builtin/video/motion/text-to-video', {
    prompt: 'waves',
    duration: 1,
    width: 256,
    height: 256,
  })
  const failed = await make('test/failing/text-to-image', { prompt: 'a broken lamp' })
  const deleted = await make(instant, { prompt: 'nothing' })
  await app.send(`/v1/jobs/${deleted}`, { method: 'DELETE' })
  const gate = app.gate()
  const running = await make('test/gate/text-to-image', gate.input, false)
  await gate.begun()
  for (const prompt of ['a harbour in the morning', 'aurora over the sea', 'a fox in deep snow'])
    await make(art, { prompt, width: 512, height: 384 })
  const picture = await make(art, { prompt: 'a lighthouse at dusk', width: 1024, height: 640 })
  await fetch(`${app.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'image/png' },
    body: new Uint8Array(readFileSync(join(import.meta.dirname, '../models/picture.png'))),
  })
  const old = await app.admin.createKey({ accountId, permissions: [toPermissionCode('generate')], name: 'old laptop' })
  await app.admin.revokeKey({ keyId: old.key?.keyId ?? '' })
  await app.admin.createKey({ accountId, permissions: [toPermissionCode('generate')], name: 'print shop' })
  await register(`${app.url}/hook`)
  await app.send('/v1/run?wait=true', {
    headers: { 'idempotency-key': 'labelled', 'mediagen-labels': 'team=ads' },
    body: { model: instant, input: { prompt: 'a picture that a webhook tells of' }, max_credits: 10 },
  })
  return { sound, film, failed, deleted, running, picture }
}

/** Shows a page in light or dark, at once. */
export async function paint(page: BrowserPage, scheme: 'light' | 'dark'): Promise<void> {
  await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] })
  await page.evaluate(
    `for (const change of document.getAnimations()) if (change instanceof CSSTransition) change.finish()`,
  )
}

/** The pages by name, in an order in which one can go through them. */
export function placesOf(app: TestApp, jobs: Jobs): Readonly<Record<string, Go>> {
  const whole = `document.querySelector('main > *') && !document.querySelector('main [aria-busy=true], .asking') && [...document.images].every(({ complete, loading }) => complete || loading === 'lazy')`
  const settle: Go = (page) => page.until(whole)
  const at =
    (hash: string, ready = 'true'): Go =>
    async (page) => {
      await page.evaluate(`location.hash = '${hash}'`)
      await page.until(`location.hash === '${hash}' && ${ready}`)
      await settle(page)
    }
  const outside =
    (path: string, ready = 'true'): Go =>
    async (page) => {
      await page.open(app.url + path)
      await page.until(ready)
      await settle(page)
    }
  const result = `document.querySelector('.result')`
  return {
    'sign-in': outside('/', `document.querySelector('#key-field')`),
    catalog: async (page) => {
      await page.open(`${app.url}/#key=${app.account.key}`)
      await page.until(`document.querySelectorAll('.product').length > 2`)
      await settle(page)
    },
    'model-with-a-result': async (page) => {
      await at(`#/model/${art}`, result)(page)
      await fill(page, 'textarea', 'a lighthouse at dusk')
      await settle(page)
    },
    code: async (page) => {
      await press(page, '.as-code')
      await page.until(`document.querySelector('dialog[open]')`)
    },
    'wrong-field': async (page) => {
      await page.evaluate(`document.querySelector('dialog[open]')?.close()`)
      await at(`#/model/${instant}`, `document.querySelector('textarea')`)(page)
      await fill(page, 'textarea', 'x')
      await fill(page, '.field[data-name=width] .number', '9999')
      await page.until(`document.querySelector('.field.wrong')`)
    },
    'model-with-files': at('#/model/builtin/image/art/edit', `document.querySelector('form')`),
    library: at('#/library', `document.querySelectorAll('.tile').length > 3`),
    'library-selecting': async (page) => {
      await press(page, '.selection .button:last-of-type')
      await press(page, '.tile-cell:nth-child(2) .tile')
    },
    uploads: at('#/uploads', `document.querySelector('.upload')`),
    account: at('#/account', `document.querySelector('.limits') && document.querySelector('.chart')`),
    usage: at(
      '#/usage',
      `document.querySelector('.usage-table tbody tr') && document.querySelectorAll('.chip').length > 3`,
    ),
    keys: at('#/keys', `document.querySelector('.key-list') && !document.querySelector('.ended-keys[open]')`),
    'key-to-make': async (page) => {
      await press(page, '.head-row button')
      await page.until(`document.querySelector('dialog[open]')`)
      await page.evaluate(`document.querySelector('dialog .more-fields').open = true`)
    },
    'key-to-revoke': async (page) => {
      await page.evaluate(`document.querySelector('dialog[open]')?.close()`)
      await press(page, '.key-list .actions button:last-child')
      await page.until(`document.querySelector('dialog[open]')`)
    },
    'key-made': async (page) => {
      await page.evaluate(`document.querySelector('dialog[open]')?.close()`)
      await press(page, '.head-row button')
      await press(page, 'dialog [type=submit]')
      await page.until(`document.querySelector('dialog .secret')`)
    },
    credits: at('#/wallet', `document.querySelector('.ledger tbody tr')`),
    webhooks: at('#/webhooks', `document.querySelector('.deliveries li')`),
    'webhook-tested': async (page) => {
      await press(page, '.webhook-head button')
      await page.until(`document.querySelector('.test-result .notice')`)
    },
    'webhook-to-add': async (page) => {
      await press(page, '.head-row button')
      await page.until(`document.querySelector('dialog[open]')`)
    },
    'job-picture': at(`#/job/${jobs.picture}`, result),
    'job-sound': at(`#/job/${jobs.sound}`, result),
    'job-film': at(`#/job/${jobs.film}`, result),
    'job-failed': at(`#/job/${jobs.failed}`, `document.querySelector('.job .notice')`),
    'job-running': at(`#/job/${jobs.running}`, `document.querySelector('.waiting')`),
    'job-deleted': at(`#/job/${jobs.deleted}`, `document.querySelector('.job .notice')`),
    'job-unknown': at('#/job/job_none', `document.querySelector('.notice')`),
    problems: outside('/problems'),
    problem: outside('/problems/quote_expired', `document.querySelector('.wallet')`),
    'no-such-page': outside('/nothing', `document.querySelector('.wallet')`),
    reference: outside('/docs', `document.querySelector('.reference-page h1')`),
    'reference-operation': at('#/operation/startGeneration', `document.querySelector('.try')`),
    'reference-answer': async (page) => {
      await at(
        '#/operation/getWallet',
        `document.querySelector('.reference-page code')?.textContent === '/v1/wallet'`,
      )(page)
      await press(page, '.try-form button[type=submit]')
      await page.until(`document.querySelectorAll('.answer pre').length === 2`)
    },
    'reference-event': at(
      '#/event/webhook_succeeded',
      `document.querySelector('.what') && !document.querySelector('.try')`,
    ),
    'reference-model': at(`#/model/${art}`, `document.querySelector('.try-form .field')`),
  }
}
