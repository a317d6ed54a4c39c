// The daily work of an operator at /admin: what waits, reviews, jobs to cancel, deliveries to send again, models that are not ready,
// files, the audit log. P327.
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { JobStatus } from '../../gen/mediagen/v1/generation_pb.ts'
import { createSecrets } from '../../src/engines/secrets.ts'
import { serveFake } from '../engines/remote/fakes/fake.ts'
import { createFakeReplicate } from '../engines/remote/fakes/replicate.ts'
import { testCatalog } from '../test-app.ts'
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
import { fill, inBrowser, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
const token = 'sk-very-secret-0123456789'
const folder = mkdtempSync(join(tmpdir(), 'mediagen-admin-'))
const opened = new AsyncDisposableStack()
let admin: AdminApp

/** A model of a provider, whose price is known by nobody: what it makes goes to review. */
function writeCatalog(origin: string): string {
  const provider = { kind: 'replicate', base_url: `${origin}/v1`, token_env: 'KEY' }
  const toModel = (name: string, price: object) => ({
    id: `acme/${name}`,
    name,
    description: 'A picture.',
    category: 'text-to-image',
    modality: 'image',
    owned_by: 'acme',
    created: '2026-01-01',
    price,
    engine: { kind: 'replicate', provider: name, model: 'acme/picture' },
    input: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt'],
      properties: { prompt: { type: 'string', minLength: 1 } },
    },
  })
  const models = [toModel('metered', { at_most: 12, actual: 'ceil(usage.tokens)' }), toModel('keyless', { credits: 2 })]
  const file = join(folder, 'acme.yaml')
  writeFileSync(
    file,
    JSON.stringify({ providers: { metered: provider, keyless: { ...provider, token_env: 'LOST' } }, models }),
  )
  return file
}

beforeAll(async () => {
  const served = opened.use(await serveFake(createFakeReplicate({ nowMs: Date.now, token })))
  admin = opened.use(
    await startAdminApp(
      { MEDIAGEN_CATALOG: `${testCatalog}:${writeCatalog(served.origin)}` },
      { secrets: createSecrets({ KEY: token }) },
    ),
  )
})

afterAll(async () => {
  await opened.disposeAsync()
  rmSync(folder, { recursive: true })
})

const text = `document.querySelector('main').innerText`
const figureOf = (title: string): string =>
  `[...document.querySelectorAll('.figures a')].find((one) => one.querySelector('.figure-title').textContent === '${title}')`

inBrowser(
  "P327 a review shows the provider's words and the file; it is charged in part or released, once confirmed",
  async () => {
    const { app } = admin
    const { accountId } = app.account
    const make = async (): Promise<string> =>
      (await app.generate('acme/metered', { prompt: 'a boat' }, { wait: true })).body.job_id
    const first = await make()
    await using page = await browser.openPage()
    await openAdmin(page, admin)
    await page.until(`${figureOf('Reviews')}?.querySelector('.figure').textContent === '1'`)
    await page.evaluate(`${figureOf('Reviews')}.click()`)
    await page.until(`document.querySelector('.review')`)
    const card = await page.evaluate<string>(`document.querySelector('.review').innerText`)
    for (const words of [
      'nobody reported the usage',
      'usage_unknown',
      '12 credits',
      'metered',
      'p0001',
      'succeeded',
      'image/png',
    ])
      expect(card).toContain(words)
    await page.until(`document.querySelector('.review-files img').naturalWidth > 0`)

    await pressButton(page, 'Charge 12 …')
    await writeField(page, 'Credits to charge', '13')
    await pressButton(page, 'Charge')
    expect(await page.until(textOf('dialog .field-error:not(:empty)'))).toBe('At most 12.')
    await writeField(page, 'Credits to charge', '5')
    await pressButton(page, 'Charge')
    await page.until(`document.querySelector('dialog[open]').innerText.includes('5 charged, 7 returned')`)
    await pressButton(page, 'Done')
    await page.until(`${isClosed} && document.querySelector('.empty-note')`)
    expect((await app.admin.inspectJob({ jobId: first })).job).toMatchObject({
      status: JobStatus.SUCCEEDED,
      billing: { charged: 5n, released: 7n },
    })

    const second = await make()
    // It appears by itself.
    await page.until(`document.querySelector('.review')`)
    await pressButton(page, 'Release …')
    await pressButton(page, 'Cancel')
    await page.until(isClosed)
    expect((await app.admin.inspectJob({ jobId: second })).job?.status).toBe(JobStatus.NEEDS_REVIEW)
    await pressButton(page, 'Release …')
    await pressButton(page, 'Release')
    await page.until(`document.querySelector('dialog[open]').innerText.includes('0 charged, 12 returned')`)
    expect((await app.admin.inspectJob({ jobId: second })).job?.status).toBe(JobStatus.FAILED)
    await pressButton(page, 'Done')
    await goTo(page, `#/accounts/${accountId}`)
    expect(await page.evaluate(textOf('.figure'))).toBe('995')
    expect(page.errors).toEqual([])
  },
)

inBrowser('the overview says what runs and waits; a job of anybody is canceled from its list', async () => {
  const { app } = admin
  const account = await app.createAccount(1000)
  const gate = app.gate()
  const ids: string[] = []
  for (let count = 0; count < 10; count += 1)
    ids.push((await app.generate('test/gate/text-to-image', gate.input, { account, wait: false })).body.job_id)
  await gate.begun()
  await using page = await browser.openPage()
  await openAdmin(page, admin)
  await page.until(
    `${figureOf('Running')}.innerText.includes('of 1 model') && ${columnOf(0)}.includes('test/gate/text-to-image')`,
  )
  expect(Number(await page.evaluate(`${figureOf('Running')}.querySelector('.figure').textContent`))).toBeGreaterThan(0)
  await page.evaluate(`${figureOf('Waiting')}.click()`)
  await page.until(`location.hash === '#/jobs?status=queued' && ${isWhole} && ${columnOf(0)}.length > 0`)
  const waiting = await page.evaluate<string[]>(columnOf(0))
  expect(waiting[0]).toContain(ids.at(-1))
  expect(await page.evaluate<string[]>(columnOf(4))).toSatisfy((took: string[]) =>
    took.every((one) => one.startsWith('waits')),
  )
  await pressButton(page, 'Cancel')
  await writeField(page, 'Reason', 'it blocks the queue')
  await pressButton(page, 'Cancel the job')
  await page.until(`${isClosed} && ${columnOf(0)}.length === ${waiting.length - 1}`)
  expect((await app.admin.inspectJob({ jobId: ids.at(-1) ?? '' })).job).toMatchObject({
    status: JobStatus.CANCELED,
    billing: { charged: 0n },
  })
  gate.open()
  // They end without a press.
  await page.until(`document.querySelector('.empty-note')?.innerText.startsWith('No jobs match.')`)
  expect(page.errors).toEqual([])
})

inBrowser('a job that starts and ends is shown by the stream of changes, without reading now and then', async () => {
  const { app } = admin
  await using page = await browser.openPage()
  // The pause between two readings never ends.
  const source = `{ const real = setTimeout; window.setTimeout = (call, ms, ...more) => ms === 5000 ? 0 : real(call, ms, ...more) }`
  await page.send('Page.addScriptToEvaluateOnNewDocument', { source })
  await openAdmin(page, admin, '#/jobs')
  const gate = app.gate()
  const { body: job } = await app.generate('test/gate/text-to-image', gate.input, { wait: false })
  const row = `[...document.querySelectorAll('.admin-table tbody tr')].find((one) => one.innerHTML.includes('${job.job_id}'))?.innerText`
  await page.until(row)
  gate.open()
  await page.until(`/succeeded|done/i.test(${row})`)
})

inBrowser('a delivery that failed is sent again', async () => {
  const { app, hooks } = admin
  let answer = 500
  const receiver = createServer((_request, response) => response.writeHead(answer).end()).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  try {
    const account = await app.createAccount(100)
    const { webhook_id } = await hooks.register(
      `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`,
      account,
    )
    await hooks.runJob('test/nothing/text-to-image', account)
    await expect.poll(async () => (await hooks.deliveries(webhook_id, account))[0]?.attempts.length).toBe(1)
    answer = 204
    await using page = await browser.openPage()
    await openAdmin(page, admin, `#/webhooks?account=${account.accountId}`)
    expect(await page.until(`${columnOf(2)}[0]`)).toMatch(/^pending .*500.* next attempt in .* 1 attempt$/)
    await pressButton(page, 'Redeliver')
    expect(await page.until(textOf('dialog[open]'))).toContain('job.succeeded is sent to http://127.0.0.1:')
    await page.evaluate(
      `[...document.querySelectorAll('dialog[open] button')].find((one) => one.textContent === 'Redeliver').click()`,
    )
    await page.until(`${isClosed} && ${columnOf(2)}[0].startsWith('delivered')`)
    expect(await page.evaluate(columnOf(0, 'Endpoints'))).toHaveLength(1)
    expect(page.errors).toEqual([])
  } finally {
    receiver.close()
    receiver.closeAllConnections()
  }
})

inBrowser('one finds out why a model is missing, and what its provider says', async () => {
  await using page = await browser.openPage()
  await openAdmin(page, admin)
  await page.evaluate(`${figureOf('Models not ready')}.click()`)
  await page.until(`location.hash === '#/models?state=unready' && ${isWhole} && ${columnOf(0)}.length === 3`)
  expect(await page.evaluate(columnOf(1))).toEqual([
    expect.stringContaining('no-such-program-anywhere'),
    expect.stringContaining('ended on 2026-01-31'),
    expect.stringContaining('the server has no environment variable LOST'),
  ])
  await fill(page, '.filters input', 'keyless')
  await page.until(`${columnOf(0)}.length === 1`)
  expect(await page.evaluate('location.hash')).toBe('#/models?q=keyless&state=unready')
  await pressButton(page, 'Ask every provider now')
  await page.until(`${text}.includes('Nothing was charged.')`)
  expect(await page.evaluate(columnOf(0, 'Providers'))).toEqual(['metered replicate', 'keyless replicate'])
  expect(await page.evaluate(columnOf(1, 'Providers'))).toEqual(['works', 'missing'])
  expect(page.errors).toEqual([])
})

inBrowser(
  'files are measured and removed, the ledger is checked, and the audit log is filtered and saved',
  async () => {
    const { app } = admin
    await app.generate('test/instant/text-to-image', { prompt: 'x' }, { wait: true })
    await using page = await browser.openPage()
    await openAdmin(page, admin, '#/files')
    await page.until(`${columnOf(1, 'Space')}.includes('outputs of jobs')`)
    expect(await page.evaluate(text)).toMatch(/Files are kept for\s+7 days/)
    await pressButton(page, 'Remove what is over …')
    await page.until(`document.querySelector('dialog[open]')?.innerText.includes('0 expired files')`)
    await pressButton(page, 'Remove them')
    await page.until(`document.querySelector('dialog[open]').innerText.includes('removed.')`)
    await pressButton(page, 'Done')

    await goTo(page, '#/')
    await pressButton(page, 'Check the ledger …')
    await pressButton(page, 'Check')
    await page.until(`document.querySelector('dialog[open]').innerText.includes('Every credit is accounted for.')`)
    await pressButton(page, 'Done')

    await goTo(page, '#/audit?act=files')
    await page.until(`${columnOf(2)}.length > 0`)
    expect(await page.evaluate<string[]>(columnOf(2))).toSatisfy((acts: string[]) =>
      acts.every((act) => act.startsWith('files.')),
    )
    await page.evaluate(`{
    window.saved = Promise.withResolvers()
    URL.createObjectURL = (file) => (file.text().then(saved.resolve), 'blob:none')
    HTMLAnchorElement.prototype.click = () => {}
  }`)
    await pressButton(page, 'Download as CSV')
    const [head, line] = (await page.evaluate<string>('saved.promise')).split('\r\n')
    expect(head).toBe('time,entry_id,actor,actor_account_id,act,subject,account_id,before,after')
    expect(line).toMatch(/^\d{4}-.*,audit_\w+,key_\w+,acct_\w+,files\./)
    expect(page.errors).toEqual([])
  },
)
