// The client in a real browser: a generation over a line that is cut, an upload with its progress, a refusal by code.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { bundle } from '../../src/gateway/pages/bundle.ts'
import { startTestApp } from '../test-app.ts'
import { inBrowser, useBrowser } from '../web/browser-tests.ts'
import { openCuttingProxy } from './spoiled-proxy.ts'

const browser = useBrowser()

/** A script that makes `createClient` global. */
async function bundleClient(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-browser-'))
  try {
    const client = join(import.meta.dirname, '../../packages/client/src/client.ts')
    const entry = `import { createClient } from '${client}'\nObject.assign(globalThis, { createClient })`
    writeFileSync(join(folder, 'entry.ts'), entry)
    return (await bundle(folder, ['entry.ts'])).get('entry') ?? ''
  } finally {
    rmSync(folder, { recursive: true })
  }
}

inBrowser('generates over a line that is cut, uploads with progress, and names what is refused', async () => {
  await using app = await startTestApp()
  const gate = app.gate()
  await using proxy = await openCuttingProxy(app.url, gate.open)
  await using page = await browser.openPage()
  await page.open(`${proxy.url}/problems`)
  // The value of the last statement would be all of the window.
  await page.evaluate(`${await bundleClient()};null`)
  await page.evaluate(`window.client = createClient({ url: '', key: '${app.account.key}' })`)
  const job = await page.evaluate(`client.generate('test/gate/text-to-image', ${JSON.stringify(gate.input)})`)
  expect(job).toMatchObject({ status: 'succeeded', billing: { held: 10, charged: 10 } })
  // A browser may forget what it has received when the line breaks, so the second watch may begin anew.
  expect(proxy.watches).toHaveLength(2)

  const uploaded = `(async () => {
    const canvas = new OffscreenCanvas(300, 300)
    canvas.getContext('2d').fillRect(0, 0, 150, 150)
    const picture = await canvas.convertToBlob()
    const told = []
    const { content_type, bytes } = await client.upload(picture, { onProgress: (part) => told.push(part) })
    return { content_type, complete: bytes === picture.size, last: told.at(-1), files: (await client.files()).total }
  })()`
  expect(await page.evaluate(uploaded)).toEqual({ content_type: 'image/png', complete: true, last: 1, files: 1 })

  const refused = `client.upload(new Blob(['no picture']), { onProgress() {} }).catch(({ name, code }) => name + ' ' + code)`
  expect(await page.evaluate(refused)).toBe('Refused invalid_media')
})
