// The console in a real browser: key, quote, generation, picture; a refusal at its field; a failure in words; the library.
import { afterAll, beforeAll, expect } from 'vitest'
import { openProxy } from '../client/spoiled-proxy.ts'
import { startTestApp, type TestApp, withBuiltin } from '../test-app.ts'
import { fill, inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
let app: TestApp

// Each test has an account of its own.
beforeAll(async () => {
  app = await startTestApp({}, withBuiltin)
})

afterAll(() => app[Symbol.asyncDispose]())

inBrowser('from a key in the address to a picture', async () => {
  const account = await app.createAccount(1000)
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${account.key}`)
  await page.until(`document.querySelectorAll('.product').length > 2`)
  expect(await page.evaluate('location.href')).toBe(`${app.url}/#/`)
  await page.until(`${textOf('.wallet')}.startsWith('1,000 credits')`)

  await page.evaluate(`location.hash = '#/model/test/instant/text-to-image'`)
  await fill(page, 'textarea', 'a red fox in snow')
  await page.until(`${textOf('.large')} === 'Generate for 3 credits'`)
  await press(page, '.large')
  expect(
    await page.until(
      `(() => { const picture = document.querySelector('.result img'); return picture?.complete && picture.naturalWidth })()`,
    ),
  ).toBe(1)
  await page.until(`${textOf('.wallet')}.startsWith('997 credits')`)
  expect(await page.evaluate(textOf('.job-status'))).toBe('Done3 credits charged')
  expect(await page.evaluate(`document.querySelector('.result a[download]').download`)).toMatch(/^instant-\w+\.png$/)

  // The ledger says where the credits went.
  await press(page, '.wallet')
  await page.until(`document.querySelectorAll('.ledger tbody tr').length === 2`)
  const rows = await page.evaluate(
    `[...document.querySelectorAll('.ledger tbody tr')].map((row) => [...row.cells].slice(1).map((cell) => cell.textContent).join(' '))`,
  )
  expect(rows).toEqual(['a red fox in snow −3', 'Granted +1,000'])
  expect(await page.evaluate(textOf('.ledger-bar p'))).toMatch(/^In \w+ 20\d\d: \+1,000 received, −3 spent\.$/)
  await page.evaluate(`{
    window.saved = Promise.withResolvers()
    URL.createObjectURL = (file) => (file.text().then(saved.resolve), 'blob:none')
    HTMLAnchorElement.prototype.click = () => {}
  }`)
  await press(page, '.ledger-bar button')
  const lines = (await page.evaluate<string>('saved.promise')).split('\r\n').map((line) => line.split(','))
  expect(lines.map(([, ...line]) => line.slice(0, 4).join())).toEqual([
    'kind,credits,available_after,held_after',
    'charge,0,997,0',
    'hold,-3,997,3',
    'grant,1000,1000,0',
    '',
  ])
  await page.evaluate('delete HTMLAnchorElement.prototype.click')

  await page.evaluate(`location.hash = '#/library'`)
  expect(await page.until(textOf('.tile b'))).toBe('a red fox in snow')
  await press(page, '.tile')
  await page.until(
    `location.hash.startsWith('#/job/job_') && document.querySelector('.job-page .result img')?.complete`,
  )
  expect(page.errors).toEqual([])
})

inBrowser('refusals appear at the field; a failed job says why and costs nothing', async () => {
  const account = await app.createAccount(1000)
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${account.key}&/model/test/failing/text-to-image`)
  await fill(page, '.field[data-name=width] .number', '9999')
  await fill(page, 'textarea', 'x')
  expect(await page.until(textOf('.field[data-name=width].wrong .field-error'))).toBe('At most 2,048.')
  await fill(page, '.field[data-name=width] .number', '512')
  await page.until(`!document.querySelector('.wrong') && ${textOf('.large')} === 'Generate for 7 credits'`)
  await press(page, '.large')
  expect(await page.until(textOf('.job .notice p'))).toBe('the paint ran out')
  expect(await page.evaluate(textOf('.job-status'))).toBe('FailedNothing charged, 7 credits returned')
})

inBrowser('“Try again” after a refused price asks for the price, and starts nothing', async () => {
  const account = await app.createAccount(1000)
  let refuses = true
  const sent: string[] = []
  await using proxy = await openProxy(app.url, (path, _pass, response) => {
    sent.push(path)
    if (path !== 'POST /v1/quotes' || !refuses) return false
    const problem = { status: 503, code: 'overloaded', title: 'Overloaded', detail: 'busy', retryable: true }
    response.writeHead(503, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem))
    return true
  })
  await using page = await browser.openPage()
  await page.open(`${proxy.url}/#key=${account.key}&/model/test/instant/text-to-image`)
  await fill(page, 'textarea', 'x')
  await page.until(textOf('.generate-bar .notice .button'))
  refuses = false
  await press(page, '.generate-bar .notice .button')
  await page.until(`${textOf('.large')} === 'Generate for 3 credits'`)
  expect(await page.evaluate(`document.querySelector('.large').disabled`)).toBe(false)
  expect(sent).not.toContain('POST /v1/generate')
})

inBrowser('a press before the price is known shows the price, and starts nothing', async () => {
  const account = await app.createAccount(1000)
  const sent: string[] = []
  await using proxy = await openProxy(app.url, (path) => {
    sent.push(path)
    return false
  })
  await using page = await browser.openPage()
  await page.open(`${proxy.url}/#key=${account.key}&/model/builtin/image/art/text-to-image`)
  await page.until(`document.querySelector('.input-form textarea')`)
  await page.evaluate(`{
    const words = document.querySelector('.input-form textarea')
    words.value = 'a red fox'
    words.dispatchEvent(new Event('input', { bubbles: true }))
    words.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true }))
  }`)
  await page.until(`document.querySelector('.generate-bar')?.textContent.includes('Press again to accept')`)
  expect(sent).not.toContain('POST /v1/generate')
  await press(page, '.large')
  await expect.poll(() => sent).toContain('POST /v1/generate')
})

inBrowser('a model that is not there is explained to people, the code is folded away', async () => {
  const account = await app.createAccount(1000)
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${account.key}&/model/no/such`)
  expect(await page.until(`document.querySelector('.notice')?.innerText.split('\\n').filter(Boolean)`)).toEqual([
    'There is no such model',
    'It may have been removed, or the link is wrong. The Models page lists all of them.',
    'Details',
  ])
  expect(await page.evaluate(textOf('.technical code'))).toBe('model_not_found')
  // As one would type it.
  await page.evaluate("location.hash = '#/models/Poster'")
  expect(await page.until(textOf('.similar p'))).toBe('No model is called “Poster” here. Did you mean one of these?')
  expect(await page.evaluate("document.querySelector('.similar a').getAttribute('href')")).toBe(
    '#/model/builtin/image/poster/text-to-image',
  )
})

inBrowser('a running job shows its progress and can be canceled', async () => {
  const account = await app.createAccount(1000)
  await using page = await browser.openPage()
  const gate = app.gate()
  await page.open(`${app.url}/#key=${account.key}&/model/test/gate/text-to-image`)
  await fill(page, '.field[data-name=gate] .input', gate.input.gate)
  await page.until(`${textOf('.large')} === 'Generate for 10 credits'`)
  await press(page, '.large')
  await page.until(`${textOf('.job-status')} === 'Working, 50%10 credits held'`)
  await press(page, '.job .actions button')
  await page.until(`${textOf('.job-status')} === 'CanceledNothing charged, 10 credits returned'`)
})

inBrowser('a video and a sound are played, and the library shows what they look like', async () => {
  const account = await app.createAccount(1000)
  const film = { prompt: 'waves', duration: 2, width: 512, height: 288, fps: 24 }
  const [video, speech] = await Promise.all([
    app.generate('builtin/video/motion/text-to-video', film, { account }),
    app.generate('builtin/audio/speech/text-to-speech', { text: 'Good morning.' }, { account }),
  ])
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${account.key}&/library`)
  await page.until(`document.querySelectorAll('.tile img').length === 2`)
  await page.until(
    `[...document.querySelectorAll('.tile img')].every(({ complete, naturalWidth }) => complete && naturalWidth === 512)`,
  )
  expect(
    await page.evaluate(`[...document.querySelectorAll('.tile-length')].map(({ textContent }) => textContent).sort()`),
  ).toEqual([expect.stringMatching(/^0:0[01]$/), '0:02'])
  for (const [{ body }, player] of [
    [video, 'video[poster]'],
    [speech, '.sound audio'],
  ] as const) {
    await page.evaluate(`location.hash = '#/job/${body.job_id}'`)
    const seconds = await page.until<number>(`document.querySelector('.job-page ${player}')?.duration`)
    expect(Math.abs(seconds - body.outputs[0].duration_seconds)).toBeLessThan(0.1)
  }
  expect(page.errors).toEqual([])
})

inBrowser('an answer that the end of its job has overtaken changes nothing', async () => {
  const account = await app.createAccount(1000)
  await using page = await browser.openPage()
  const gate = app.gate()
  await page.open(`${app.url}/`)
  await page.until(`document.querySelector('#key-field')`)
  // Holds back the answer to the cancel, and counts what is asked after it has arrived.
  await page.evaluate(`{
    const send = fetch
    const held = Promise.withResolvers()
    window.wallets = 0
    window.release = () => { window.wallets = 0; held.resolve() }
    window.fetch = async (path, options) => {
      const answer = await send(path, options)
      if (path.endsWith('/cancel')) await held.promise
      if (path === '/v1/wallet') window.wallets += 1
      return answer
    }
    location.hash = '#key=${account.key}&/model/test/gate/text-to-image'
  }`)
  await fill(page, '.field[data-name=gate] .input', gate.input.gate)
  await page.until(`${textOf('.large')} === 'Generate for 10 credits'`)
  await press(page, '.large')
  await page.until(`${textOf('.job-status')} === 'Working, 50%10 credits held'`)
  await press(page, '.job .actions button')
  const canceled = 'CanceledNothing charged, 10 credits returned'
  await page.until(`${textOf('.job-status')} === '${canceled}'`)
  await page.until(`wallets > 0`)
  await page.evaluate('release()')
  // The answer was shown before the wallet is asked for.
  await page.until(`wallets > 0`)
  expect(await page.evaluate(textOf('.job-status'))).toBe(canceled)
})

inBrowser('a wrong key is refused in words, and the right one opens the catalog', async () => {
  const account = await app.createAccount(1000)
  await using page = await browser.openPage()
  await page.open(`${app.url}/`)
  await fill(page, '#key-field', 'mgk_wrong')
  await press(page, '.key-form button')
  expect(await page.until(textOf('#key-error'))).toMatch(/unknown/)
  await fill(page, '#key-field', account.key)
  await press(page, '.key-form button')
  await page.until(`document.querySelectorAll('.product').length > 2`)
  // A link with a key also works in a tab that asks for one, and the key leaves the address.
  await press(page, '[aria-label="Sign out"]')
  await page.until(`document.querySelector('#key-field')`)
  await page.evaluate(`location.hash = '#key=${account.key}&/library'`)
  await page.until(`${textOf('h1')} === 'Library'`)
  expect(await page.evaluate('location.hash')).toBe('#/library')
  // On a telephone nothing is wider than the page.
  await page.resize(390)
  for (const place of ['#/', '#/library', '#/account', '#/wallet', '#/model/builtin/image/art/edit']) {
    await page.evaluate(`location.hash = '${place}'`)
    await page.until(`document.querySelector('main > section:not([aria-busy])') && innerWidth === 390`)
    const [content, window] = await page.evaluate<number[]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    )
    expect([place, content]).toEqual([place, window])
  }
})

inBrowser(
  'a card of the catalog shows what its model made, be it a sound, and whether its price only begins there',
  async () => {
    const account = await app.createAccount(1000)
    await app.generate('builtin/audio/speech/text-to-speech', { text: 'Hello there.' }, { wait: true, account })
    await using page = await browser.openPage()
    await page.open(`${app.url}/#key=${account.key}`)
    const card = (name: string): string =>
      `[...document.querySelectorAll('.product')].find((card) => card.querySelector('h2').textContent === '${name}')`
    await page.until(`${card('Speech')}.querySelector('.cover img.wave')?.naturalWidth`)
    expect(await page.evaluate(`${card('Speech')}.querySelector('.price').textContent`)).toBe('from 1 credit')
    expect(await page.evaluate(`${card('Poster')}.querySelector('.price').textContent`)).toBe('1 credit')
    expect(page.errors).toEqual([])
  },
)
