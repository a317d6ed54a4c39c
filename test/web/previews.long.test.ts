// Drafts in the console: shown while a job runs, in the shape of its output, and replaced by it.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { makeFolder, modelOf, writeCatalog } from '../faults/fixture.ts'
import { startTestApp, withBuiltin } from '../test-app.ts'
import { fill, inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()

/** The shape of what a selector finds, as width over height; falsy while it is not there. */
const ratioOf = (selector: string): string =>
  `(() => { const place = document.querySelector('${selector}')?.getBoundingClientRect(); return place?.height && place.width / place.height })()`

inBrowser('drafts of a shipped film are shown until the film is there, in its shape from the start', async () => {
  await using app = await startTestApp({}, withBuiltin)
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}&/model/builtin/video/motion/text-to-video`)
  await fill(page, 'textarea', 'waves')
  await fill(page, '.field[data-name=duration] .number', '1')
  // The height is the default, 720, which the input does not say.
  await fill(page, '.field[data-name=width] .number', '540')
  await page.until(`${textOf('.large')}.startsWith('Generate for') && !document.querySelector('.asking')`)
  // Every draft that is seen, and the shape of the frame before the first one.
  await page.evaluate(`{
    window.drafts = new Set()
    document.addEventListener('load', ({ target }) => target.matches?.('.waiting .draft') && drafts.add(target.src), { capture: true })
  }`)
  await press(page, '.large')
  expect(await page.until<number>(`document.querySelector('.waiting') && ${ratioOf('.waiting')}`)).toBeCloseTo(0.75, 1)
  await page.until(`document.querySelector('.waiting .draft:not([hidden])')?.naturalWidth`)
  await page.until(`document.querySelector('.result video')?.videoWidth === 540`)
  expect(await page.evaluate(`!document.querySelector('.waiting') && drafts.size > 0`)).toBe(true)
  expect(await page.evaluate(ratioOf('.result video'))).toBeCloseTo(0.75, 1)
})

inBrowser('a draft is in the stage, among the recent ones and in the library, as long as its job runs', async () => {
  using folder = makeFolder()
  const script = `cp "$0" .draft.png; echo '{"preview": ".draft.png"}'; until [ -e "$1/go" ]; do sleep 0.05; done; cp "$0" out.png`
  await using app = await startTestApp({ MEDIAGEN_CATALOG: writeCatalog(folder.path, [{ name: 'drafts', script }]) })
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}&/model/${modelOf('drafts')}`)
  await page.until(`${textOf('.large')}?.startsWith('Generate for')`)
  await press(page, '.large')
  const seen = (place: string): string => `document.querySelector('${place} .draft:not([hidden])')?.naturalWidth`
  expect(await page.until(seen('.waiting'))).toBe(8)
  expect(await page.until(seen('.strip .tile'))).toBe(8)
  // What an input does not tell is taken from the draft.
  expect(await page.evaluate(ratioOf('.waiting'))).toBeCloseTo(1, 1)
  await page.evaluate(`location.hash = '#/library'`)
  expect(await page.until(seen('.tiles .tile'))).toBe(8)
  await press(page, '.tile')
  expect(await page.until(seen('.job-page .waiting'))).toBe(8)

  writeFileSync(join(folder.path, 'go'), '')
  await page.until(`document.querySelector('.result img')?.naturalWidth === 8`)
  expect(await page.evaluate(`document.querySelector('.draft')`)).toBeNull()
})

inBrowser('a picture is shown as its blurhash and its preview while the whole file is on its way', async () => {
  await using app = await startTestApp({}, withBuiltin)
  const { body: job } = await app.generate('builtin/image/art/text-to-image', { prompt: 'aurora' }, { wait: true })
  const [{ preview_url }] = job.outputs
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}`)
  await page.until(`document.querySelector('.product')`)
  await page.send('Network.enable')
  const noLimit = { offline: false, downloadThroughput: -1, uploadThroughput: -1 }
  await page.send('Network.emulateNetworkConditions', { ...noLimit, latency: 300 })
  await page.evaluate(`location.hash = '#/job/${job.job_id}'`)
  const background = await page.until<string>(
    `(() => { const picture = document.querySelector('.result img'); return picture && !picture.complete && picture.style.background })()`,
  )
  expect(background).toContain(preview_url)
  expect(background).toContain('url("data:image/png')
  // Its place is as large from the beginning as in the end.
  const { width, height } = await page.evaluate<DOMRect>(boxOf('.result img'))
  await page.until(`document.querySelector('.result img').complete`)
  expect(await page.evaluate(boxOf('.result img'))).toMatchObject({ width, height })
  expect(await page.evaluate(`document.querySelector('.result img').style.background`)).toBe('')
})

const boxOf = (selector: string): string => `document.querySelector('${selector}').getBoundingClientRect().toJSON()`
