// The page of webhooks: endpoints are added, tested, given another secret and deleted; what was sent is sent again.
import { Webhook } from 'standardwebhooks'
import { expect } from 'vitest'
import { openReceiver } from '../outgoing/receiver.ts'
import { startWebhookApp } from '../webhooks/webhook-app.ts'
import { fill, inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()

inBrowser('P334 a webhook is added, tested, sent to again, given another secret and deleted', async () => {
  await using receiver = await openReceiver()
  await using hooks = await startWebhookApp()
  const { app } = hooks
  await using page = await browser.openPage()
  const say = (words: string) =>
    page.until(
      `(() => { const one = [...document.querySelectorAll('main button')].find(({ textContent, hidden }) => textContent === ${JSON.stringify(words)} && !hidden); one?.click(); return one })() !== undefined`,
    )
  const close = async (): Promise<void> => {
    await press(page, 'dialog [aria-label=Close]')
    await page.until(`!document.querySelector('dialog')`)
  }
  await page.open(`${app.url}/#key=${app.account.key}&/webhooks`)
  expect(await page.until(textOf('.nothing-yet h2'))).toBe('No webhooks yet')

  await say('Add a webhook')
  await press(page, 'dialog [type=submit]')
  expect(await page.until(textOf('dialog .field-error'))).toBe('Enter the URL of your server.')
  await fill(page, 'dialog [type=url]', 'no url')
  await press(page, 'dialog [type=submit]')
  await page.until(`document.querySelector('dialog .notice')`)
  await fill(page, 'dialog [type=url]', receiver.url)
  await press(page, 'dialog [type=submit]')
  const secret = await page.until<string>(textOf('.secret'))
  await close()
  expect(await page.until(textOf('.webhooks h2'))).toBe(receiver.url)

  await say('Send a test')
  const tested = await receiver.next()
  expect(new Webhook(secret).verify(tested.body, tested.headers as Record<string, string>)).toMatchObject({
    type: 'webhook.test',
  })
  await page.until(`${textOf('.test-result strong')} === 'The test was delivered'`)
  receiver.answer = 500
  await say('Send a test')
  await receiver.next()
  await page.until(`${textOf('.test-result p')}.startsWith('The endpoint answered 500.')`)

  receiver.answer = 200
  const { job_id } = await hooks.runJob()
  const { headers } = await receiver.next()
  await hooks.delivered()
  await page.reload()
  await page.until(`${textOf('.delivery-state')} === 'Delivered'`)
  expect(await page.evaluate(`document.querySelector('.deliveries a').hash`)).toBe(`#/job/${job_id}`)
  await say('Send again')
  expect((await receiver.next()).headers['webhook-id']).toBe(headers['webhook-id'])
  await page.until(`${textOf('.delivery-state')} === 'Delivered'`)
  // On a phone a state is one line.
  await page.resize(360)
  expect(await page.evaluate(`document.querySelector('.delivery-state').clientHeight`)).toBeLessThan(40)
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)

  await say('Another secret')
  await press(page, 'dialog .danger')
  const renewed = await page.until<string>(textOf('.secret'))
  expect(renewed).not.toBe(secret)
  await close()
  await say('Send a test')
  const signed = await receiver.next()
  for (const each of [secret, renewed])
    expect(new Webhook(each).verify(signed.body, signed.headers as Record<string, string>)).toBeDefined()

  await say('Delete')
  await press(page, 'dialog .quiet')
  await page.until(`!document.querySelector('dialog')`)
  await say('Delete')
  await press(page, 'dialog .danger')
  expect(await page.until(textOf('.nothing-yet h2'))).toBe('No webhooks yet')
  expect((await app.send('/v1/webhooks')).body.total).toBe(0)
  // The refused URL is the one error.
  expect(page.errors).toEqual([expect.stringContaining('400')])
})
