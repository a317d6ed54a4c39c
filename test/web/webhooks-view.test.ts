// The page of webhooks: the endpoints of the account, and what became of each delivery.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { startWebhookApp } from '../webhooks/webhook-app.ts'
import { inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()

inBrowser('endpoints are listed with their deliveries', async () => {
  const receiver = createServer((_request, response) => response.writeHead(204).end()).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  try {
    await using hooks = await startWebhookApp()
    const { app } = hooks
    await using page = await browser.openPage()
    await page.open(`${app.url}/#key=${app.account.key}&/webhooks`)
    expect(await page.until(textOf('.empty'))).toBe('This account has no webhooks.')

    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
    const { webhook_id } = await hooks.register(url)
    const { job_id } = await hooks.runJob()
    await expect.poll(async () => (await hooks.deliveries(webhook_id))[0]?.status).toBe('delivered')
    await page.evaluate(`location.hash = '#/account'`)
    await page.until(`document.querySelector('.account-parts [href="#/webhooks"]')`)
    await press(page, '.account-parts [href="#/webhooks"]')
    expect(await page.until(textOf('.webhooks h2'))).toBe(url)
    await page.until(`document.querySelectorAll('.webhooks tbody tr').length === 1`)
    expect(await page.evaluate(textOf('.webhooks tbody .number'))).toBe('Delivered')
    // On a phone a long state takes a few lines, not one a word.
    await page.resize(360)
    await page.evaluate(`document.querySelector('.webhooks .number').textContent = 'To be sent again after 2 attempts'`)
    expect(await page.evaluate(`document.querySelector('.webhooks .number').clientWidth`)).toBeGreaterThan(110)
    expect(await page.evaluate(`document.querySelector('.webhooks .number').clientHeight`)).toBeLessThan(90)
    expect(await page.evaluate(`document.querySelector('.webhooks tbody a').hash`)).toBe(`#/job/${job_id}`)
    expect(page.errors).toEqual([])
  } finally {
    receiver.close()
    receiver.closeAllConnections()
  }
})
