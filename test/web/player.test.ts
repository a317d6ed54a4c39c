// Sounds and films in the console: played with our own controls, by keyboard, one at a time.
import { afterAll, expect } from 'vitest'
import { startTestApp, withBuiltin } from '../test-app.ts'
import type { BrowserPage } from './browser-page.ts'
import { inBrowser, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
const app = await startTestApp({}, withBuiltin)
afterAll(() => app[Symbol.asyncDispose]())

const shown = (selector: string): string => `document.querySelector('.result ${selector}')`
const media = shown(':is(video, audio)')

/** Presses a key on a control. */
async function press(page: BrowserPage, control: string, key: string): Promise<void> {
  await page.until(`${shown(control)} && !${shown(control)}.disabled`)
  await page.evaluate(`${shown(control)}.focus()`)
  await page.press(key)
}

async function openJob(page: BrowserPage, model: string, input: object): Promise<void> {
  const { body: job } = await app.generate(model, input, { wait: true })
  await page.open(`${app.url}/#key=${app.account.key}&/job/${job.job_id}`)
  await page.until(`${media}?.readyState > 0`)
}

inBrowser('a film is played, found a place in, silenced and shown on the whole screen, all by keyboard', async () => {
  await using page = await browser.openPage()
  await openJob(page, 'builtin/video/motion/text-to-video', {
    prompt: 'waves',
    duration: 4,
    width: 400,
    height: 224,
  })
  expect(await page.evaluate(`${media}.controls`)).toBe(false)
  expect(await page.evaluate(`${shown('.player')}.getAttribute('aria-label')`)).toBe('waves')
  const named = `[...${shown('.player')}.querySelectorAll('button, input')].map(({ ariaLabel }) => ariaLabel)`
  expect(await page.evaluate(named)).toEqual(['Play', 'Position', 'Mute', 'Volume', 'Full screen'])

  await press(page, '[aria-label=Play]', 'Space')
  await page.until(`!${media}.paused && ${media}.currentTime > 0 && ${shown('.position')}.valueAsNumber > 0`)
  await press(page, '[aria-label=Pause]', 'Space')
  await page.until(`${media}.paused && ${shown('[aria-label=Play]')}`)

  await page.evaluate(`${media}.currentTime = 2.5`)
  await page.until(`${shown('.player-time')}.textContent === '0:03 / 0:04'`)
  await press(page, '.position', 'ArrowRight')
  await page.until(`${media}.currentTime === 3.5`)
  await press(page, '[aria-label=Mute]', 'ArrowLeft')
  await page.until(`${media}.currentTime === 2.5`)
  await press(page, '[aria-label=Mute]', 'Space')
  await page.until(`${media}.muted && ${shown('[aria-label=Unmute]')} && ${shown('.volume')}.value === '0'`)
  await press(page, '.volume', 'ArrowRight')
  await page.until(`!${media}.muted && ${media}.volume < 0.1`)
  expect(await page.evaluate(`${media}.currentTime`)).toBe(2.5)

  await press(page, '[aria-label="Full screen"]', 'Space')
  await page.until(`document.fullscreenElement === ${shown('.player')} && ${shown('[aria-label="Leave full screen"]')}`)
  await press(page, '[aria-label="Leave full screen"]', 'Space')
  await page.until(`!document.fullscreenElement && ${shown('[aria-label="Full screen"]')}`)
  expect(page.errors).toEqual([])
})

inBrowser('a sound that begins stops the one before it; one that cannot be played says so', async () => {
  await using page = await browser.openPage()
  await openJob(page, 'builtin/audio/speech/text-to-speech', { text: 'Good morning. How do you do? It is a long day.' })
  // The same again beside it.
  await page.evaluate(`window.first = ${media}; ${shown('[aria-label=Play]')}.focus()`)
  await page.press('Space')
  await page.until(`!first.paused`)
  await page.evaluate(`location.hash = '#/model/builtin/audio/speech/text-to-speech'`)
  await page.until(`document.querySelector('.hear')`)
  await page.evaluate(`document.body.append(first); first.play(); document.querySelector('.hear').focus()`)
  await page.until(`!first.paused`)
  await page.press('Space')
  await page.until(`first.paused && document.querySelector('.hear[aria-label^=Stop]')`)

  await openJob(page, 'builtin/audio/speech/text-to-speech', { text: 'Good night.' })
  await page.evaluate(`${media}.src = '/assets/none'`)
  await page.until(`${shown('.player-time')}.textContent === 'Cannot be played'`)
  expect(await page.evaluate(`${shown('[aria-label=Play]')}.disabled`)).toBe(true)
})
