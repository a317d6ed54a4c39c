// Files in the console, in a real browser: chosen, dropped, pasted, named; refused in words; in order; and over a restart.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestAccount, openCommandLine } from '../cli/command-line.ts'
import { openProxy } from '../client/spoiled-proxy.ts'
import { copyModel } from '../files/media/media-app.ts'
import { startTestApp, type TestApp } from '../test-app.ts'
import type { BrowserPage } from './browser-page.ts'
import { type Browser, chromiumPath, openBrowser } from './chromium.ts'

const catalog = join(import.meta.dirname, '../files/media/models.yaml')
const maxBytes = 200_000
const folder = mkdtempSync(join(tmpdir(), 'mediagen-pictures-'))
const place = `#/model/${copyModel}`

if (!chromiumPath)
  console.warn('SKIPPED test/web/uploads.long.test.ts: no Chromium on this machine, see test/web/browser.test.ts.')
const inBrowser = test.skipIf(!chromiumPath)

// Days may be added.
const clock = { aheadMs: 0, nowMs: () => Date.now() + clock.aheadMs }

let browser: Browser
let page: BrowserPage
let app: TestApp

beforeAll(async () => {
  if (!chromiumPath) return
  app = await startTestApp({ MEDIAGEN_CATALOG: catalog, MEDIAGEN_MAX_UPLOAD_BYTES: String(maxBytes) }, { clock })
  browser = await openBrowser()
  page = await browser.openPage()
  await page.send('Browser.grantPermissions', { permissions: ['clipboardReadWrite', 'clipboardSanitizedWrite'] })
})

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]()
  await app?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

/** A picture on the disk, of noise, so that it is as large as it looks. */
async function paint(name: string, width: number, height = width): Promise<string> {
  const path = join(folder, name)
  const noise = { width, height, channels: 3 as const, noise: { type: 'gaussian' as const, mean: 128, sigma: 60 } }
  await sharp({ create: { ...noise, background: '#000' } })
    .png()
    .toFile(path)
  return path
}

function write(name: string, content: string | Buffer): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

/** Opens the form anew, in a tab that remembers nothing. */
async function openForm(url = app.url, key = app.account.key): Promise<void> {
  await page.evaluate(`location.protocol === 'about:' || sessionStorage.clear()`)
  await page.open('about:blank')
  await page.open(`${url}/#key=${key}&/model/${copyModel}`)
  await page.until(`location.hash === '${place}' && document.querySelector('${single} .picker')`)
}

const single = '.field[data-name=image]'
const several = '.field[data-name=images]'
const textOf = (selector: string) => `document.querySelector(${JSON.stringify(selector)})?.textContent`
const press = (selector: string) => page.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`)
/** The name and the facts of the file in the field, once it is there. */
const arrived = () =>
  page.until<string>(
    `(() => { const slot = document.querySelector('${single} .slot'); const picture = slot?.querySelector('img'); return picture?.complete && picture.naturalWidth && slot.querySelector('progress').hidden && slot.querySelector('.slot-words').innerText })()`,
  )
const remove = async () => {
  await press(`${single} .slot [aria-label^=Remove]`)
  await page.until(`!document.querySelector('${single} .slot') && document.activeElement.type === 'file'`)
}
const uploads = async () => (await app.send('/v1/files')).body.data as { content_type: string; bytes: number }[]

inBrowser('a file is chosen, shown, priced and made into something', async () => {
  await openForm()
  await page.choose(`${single} [type=file]`, [await paint('harbour.png', 120)])
  expect(await arrived()).toMatch(/^harbour\.png\s+PNG · \d\d kB$/)
  // Away and back: what was entered is still there.
  await page.evaluate(`location.hash = '#/'`)
  await page.until(`document.querySelector('.product')`)
  await page.evaluate(`location.hash = '${place}'`)
  expect(await arrived()).toMatch(/^harbour\.png/)
  await page.until(`${textOf('.large')} === 'Generate for 7 credits'`)
  await press('.large')
  expect(
    await page.until(
      `(() => { const made = document.querySelector('.result img'); return made?.complete && made.naturalWidth })()`,
    ),
  ).toBe(120)
  // What was made goes on to another form; the server has it already.
  const stored = (await uploads()).length
  const goOn = `[...document.querySelectorAll('.job .actions button')].find((one) => one.textContent === 'Use in Copy')`
  await page.until(goOn)
  await page.evaluate(`${goOn}.click()`)
  expect(await arrived()).toMatch(/^harbour\.png/)
  expect(await uploads()).toHaveLength(stored)
  // What is no longer needed makes room.
  await page.evaluate(`location.hash = '#/uploads'`)
  expect(await page.until(textOf('.upload b'))).toBe('harbour.png')
  await press('.upload .actions button:last-child')
  await press('dialog .danger')
  await page.until(`document.querySelectorAll('.upload').length === ${stored - 1}`)
  expect(await uploads()).toHaveLength(stored - 1)
  expect(page.errors).toEqual([])
})

inBrowser('a file comes by dropping, by pasting, by its address or the id of an upload', async () => {
  const picture = await paint('square.png', 40)
  await openForm()
  await page.drop(`${single} .drop`, [picture])
  expect(await arrived()).toMatch(/^square\.png/)
  await remove()
  // Beside the field, where the browser would leave the page for the picture.
  await page.drop('h1', [picture])
  expect(await arrived()).toMatch(/^square\.png/)
  await remove()

  await page.evaluate(`(async () => {
    const canvas = new OffscreenCanvas(30, 20)
    canvas.getContext('2d').fillRect(5, 5, 10, 10)
    await navigator.clipboard.write([new ClipboardItem({ 'image/png': await canvas.convertToBlob() })])
  })()`)
  await page.press('v', 'paste')
  expect(await arrived()).toMatch(/PNG · \d+ bytes/)
  await remove()
  // Nothing has the focus.
  await page.evaluate('document.activeElement.blur()')
  await page.press('v', 'paste')
  expect(await arrived()).toMatch(/PNG/)
  await remove()
  const headers = { authorization: `Bearer ${app.account.key}`, 'content-type': 'image/png' }
  const body = new Uint8Array(readFileSync(picture))
  const sent: any = await (await fetch(`${app.url}/v1/files`, { method: 'POST', headers, body })).json()

  // The field for addresses is the next one for whoever goes on by keys.
  await page.press('Tab')
  await page.type('www.example.com/a.png')
  await page.press('Enter')
  expect(await page.until(textOf(`${single} > .field-error`))).toMatch(/begins with https:\/\/ or http:\/\//)
  await page.evaluate('document.activeElement.select()')
  await page.type(sent.url)
  await page.press('Enter')
  await arrived()
  expect(await page.evaluate(textOf(`${single} > .field-error`))).toBe('')
  await remove()
  await page.press('Tab')
  await page.type(sent.file_id)
  await page.press('Enter')
  expect(await arrived()).toMatch(/^file_\w+\s+PNG · \d+(\.\d)? kB/)
  await page.until(`${textOf('.large')} === 'Generate for 7 credits'`)
  await remove()
  await page.press('Tab')
  await page.type('file_00000000000000000000000000')
  await page.press('Enter')
  expect(await page.until(textOf(`${single} .slot.failed .fine`))).toMatch(/no longer exists/)
})

inBrowser('a file that a busy server cannot look up stays in the form, and is looked up again', async () => {
  let busy = true
  await using proxy = await openProxy(app.url, (path, _pass, response) => {
    if (!path.startsWith('GET /v1/files/') || !busy) return false
    const problem = { status: 503, code: 'overloaded', title: 'Overloaded', detail: 'busy', retryable: true }
    response.writeHead(503, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem))
    return true
  })
  await openForm(proxy.url)
  await page.choose(`${single} [type=file]`, [await paint('kept.png', 20)])
  await arrived()
  await page.reload()
  await page.until(`document.querySelector('${single} .slot.failed')`)
  busy = false
  await press(`${single} .slot-words .button`)
  expect(await arrived()).toMatch(/^file_\w+\s+PNG/)
  await page.until(`${textOf('.large')} === 'Generate for 7 credits'`)
})

inBrowser('a file on its way is waited for, also where the model could do without', async () => {
  const sent: string[] = []
  let arrive = (): void => {}
  await using proxy = await openProxy(app.url, (path, pass) => {
    sent.push(path)
    arrive = pass
    return path === 'POST /v1/files'
  })
  await openForm(proxy.url)
  await page.choose(`${single} [type=file]`, [await paint('slow.png', 20)])
  await page.until(`document.querySelector('${single} progress:not([hidden])')`)
  await expect.poll(() => sent.at(-1)).toBe('POST /v1/files')
  await press('.large')
  expect(await page.until(textOf(`${single} > .field-error`))).toMatch(/still being uploaded/)
  arrive()
  expect(await arrived()).toMatch(/^slow\.png/)
  await page.until(`${textOf('.large')} === 'Generate for 7 credits'`)
  expect(sent).not.toContain('POST /v1/generate')
})

inBrowser('the page of uploads goes on to the last, also when others upload meanwhile', async () => {
  const account = await app.createAccount(0)
  const picture = readFileSync(await paint('one.png', 4))
  const upload = async (count: number) => {
    for (let sent = 0; sent < count; sent += 1) {
      const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'image/png' }
      expect((await fetch(`${app.url}/v1/files`, { method: 'POST', headers, body: picture })).ok).toBe(true)
    }
  }
  const shown = `document.querySelectorAll('.upload').length`
  await upload(30)
  await openForm(app.url, account.key)
  await page.evaluate(`location.hash = '#/uploads'`)
  await page.until(`${shown} === 24`)
  await upload(30)
  const more = '.more-row button'
  await press(more)
  await page.until(`${shown} > 24 && !document.querySelector('${more}').disabled`)
  await press(more)
  await page.until(`document.querySelector('${more}').hidden`)
})

inBrowser('a file that cannot be taken is refused at its field', async () => {
  await openForm()
  const before = await uploads()
  const refused = async (path: string) => {
    await page.choose(`${single} [type=file]`, [path])
    const said = textOf(`${single} > .field-error`)
    return page.until<string>(`${said}?.includes('${basename(path)}') && ${said}`)
  }
  // Before anything is sent …
  expect(await refused(write('film.mp4', Buffer.alloc(maxBytes + 1)))).toBe(
    '“film.mp4” is larger than 200 kB, the limit of this server.',
  )
  expect(await refused(write('notes.txt', 'hello'))).toBe('“notes.txt” is not a picture, video or sound.')
  expect(await refused(write('empty.png', ''))).toBe('“empty.png” is empty.')
  // … and by the server, which looks into it.
  await page.choose(`${single} [type=file]`, [write('fake.png', 'not a picture')])
  expect(await page.until(textOf(`${single} .slot.failed .fine`))).toMatch(/content is not recognised/)
  expect(await page.evaluate(`document.querySelector('${single} .slot .button').hidden`)).toBe(true)
  expect(await uploads()).toEqual(before)

  const poor = await app.createKey(app.account.accountId, ['models:read', 'jobs:read'])
  await openForm(app.url, poor)
  await page.choose(`${single} [type=file]`, [await paint('fine.png', 20)])
  expect(await page.until(textOf(`${single} .slot.failed .fine`))).toMatch(/permission.*generate/)
})

inBrowser('several files are put in order, taken away and made in that order', async () => {
  await openForm()
  const pictures = await Promise.all([10, 20, 30, 40].map((width) => paint(`${width}.png`, width)))
  await page.choose(`${several} [type=file]`, [...pictures, write('notes.txt', 'hello')])
  const names = `[...document.querySelectorAll('${several} .slot-name')].map((name) => name.textContent).join()`
  await page.until(`${names} === '10.png,20.png,30.png,40.png'`)
  await page.evaluate(`document.querySelectorAll('${several} [aria-label="Move up"]')[2].click()`)
  await page.evaluate(`document.querySelectorAll('${several} [aria-label^=Remove]')[0].click()`)
  await page.until(`${names} === '30.png,20.png,40.png'`)
  // Dragged to the end and back again.
  await page.evaluate(`(() => {
    const rows = [...document.querySelectorAll('${several} .item')]
    const tell = (row, type) => row.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: new DataTransfer() }))
    for (const [type, row] of [['dragstart', 0], ['dragover', 1], ['dragover', 2], ['dragend', 0]]) tell(rows[row], type)
  })()`)
  await page.until(`${names} === '20.png,40.png,30.png'`)
  await page.evaluate(`document.querySelectorAll('${several} [aria-label="Move up"]')[2].click()`)
  await page.evaluate(`document.activeElement.click()`)
  await page.until(`${names} === '30.png,20.png,40.png'`)
  await page.until(`${textOf('.large')} === 'Generate for 7 credits' && !document.querySelector('.asking')`)
  // What was left out is still said, now that everything else is in order.
  expect(await page.evaluate(textOf(`${several}.wrong > .field-error`))).toBe(
    '“notes.txt” is not a picture, video or sound.',
  )
  await press('.large')
  await page.until(`document.querySelectorAll('.result img').length === 3`)
  const sizes = (what: string) =>
    page.evaluate(
      `[...document.querySelectorAll('.result ${what}')].map(({ offsetWidth, offsetHeight }) => offsetWidth + ' × ' + offsetHeight)`,
    )
  const shown = await sizes('img')
  expect(shown).toHaveLength(3)
  const [job] = (await app.send('/v1/jobs?limit=1')).body.data
  expect(job.outputs.map(({ width }: { width: number }) => width)).toEqual([30, 20, 40])

  // A week later the files are gone, and the library says so.
  clock.aheadMs += 8 * 24 * 3_600_000
  const outputs = async () => (await app.send(`/v1/jobs/${job.job_id}`)).body.outputs
  await expect.poll(async () => (await outputs()).every(({ expired }: { expired: boolean }) => expired)).toBe(true)
  await page.evaluate(`location.hash = '#/library'`)
  expect(await page.until(textOf('.tile .expired'))).toBe('Expired')
  await press('.tile')
  await page.until(`document.querySelectorAll('.job-page .result .expired').length === 3`)
  // What is left of a picture is as large as it was.
  expect(await sizes('.expired')).toEqual(shown)
  expect(await page.evaluate(textOf('.job-page figcaption'))).toMatch(/was kept until \d/)
  clock.aheadMs = 0
})

inBrowser('a server that dies under an upload, and the same upload after it is back', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: catalog })
  const { key } = await createTestAccount(line)
  const server = await line.serve()
  await openForm(server.httpUrl, key)
  await page.choose(`${several} [type=file]`, [await paint('first.png', 50)])
  await page.until(`document.querySelectorAll('${several} progress[hidden]').length === 1`)
  await page.send('Network.enable')
  const slowly = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 40_000 }
  await page.send('Network.emulateNetworkConditions', slowly)
  await page.choose(`${several} [type=file]`, [await paint('second.png', 400)])
  await page.until(`document.querySelector('${several} progress:not([hidden])')?.value > 0.05`)
  // Asked for too early: the form says what it waits for.
  await press('.large')
  expect(await page.until(textOf(`${several} .item:nth-child(2) .field-error`))).toMatch(/still being uploaded/)
  await server.stop('SIGKILL')
  expect(await page.until(textOf(`${several} .slot.failed .fine`))).toMatch(/cannot be reached/)

  await page.send('Network.emulateNetworkConditions', { ...slowly, uploadThroughput: -1 })
  const again = await line.serve({ MEDIAGEN_HTTP_PORT: new URL(server.httpUrl).port })
  await press(`${several} .slot.failed .slot-words .button`)
  await page.until(`document.querySelectorAll('${several} progress[hidden]').length === 2`)
  await page.until(`${textOf('.large')} === 'Generate for 7 credits' && !document.querySelector('.asking')`)
  await press('.large')
  await page.until(`document.querySelectorAll('.result img').length === 2`)
  await again.stop()
})
