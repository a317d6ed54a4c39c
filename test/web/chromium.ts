// A headless Chromium, driven over the DevTools protocol by a plain WebSocket.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const places = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
const startMs = 30_000
// Sooner than a test gives up, which would not know what it waited for.
const untilMs = 45_000

/** Path of the browser; undefined when this machine has none. */
export const chromiumPath = places.find((path) => path !== '' && existsSync(path))

/** A page of the browser. */
export interface BrowserPage extends AsyncDisposable {
  /** What the page logged as an error, or threw. */
  readonly errors: readonly string[]
  open(url: string): Promise<void>
  /** Evaluates an expression, awaiting a promise. */
  evaluate<Value>(expression: string): Promise<Value>
  /** Waits until an expression is truthy; answers with its value. */
  until<Value>(expression: string): Promise<Value>
  /** Makes the window this wide, in CSS pixels. */
  resize(width: number): Promise<void>
  /** Types into the focused field as a person does. */
  type(text: string): Promise<void>
  /** Presses a key such as `Tab`; the command is what the system would make of it, such as `paste`. */
  press(key: string, command?: string): Promise<void>
  /** Chooses files in a file field, as its dialog would. */
  choose(selector: string, paths: readonly string[]): Promise<void>
  /** Drags files over an element and drops them there. */
  drop(selector: string, paths: readonly string[]): Promise<void>
  /** Sends a command of the DevTools protocol. */
  send(method: string, params?: object): Promise<any>
}

interface Message {
  readonly id?: number
  readonly method?: string
  readonly sessionId?: string
  readonly result?: any
  readonly params?: any
  readonly error?: { readonly message: string }
}

/** Starts a browser with one page. */
export async function openBrowserPage(path: string): Promise<BrowserPage> {
  const profile = mkdtempSync(join(tmpdir(), 'mediagen-chromium-'))
  const options = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--disable-background-networking',
    '--no-first-run',
    '--remote-debugging-port=0',
    `--user-data-dir=${profile}`,
  ]
  const browser = spawn(path, [...options, 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe'] })
  const socket = new WebSocket(await readAddress(browser))
  await once(socket, 'open')
  const waiting = new Map<number, PromiseWithResolvers<any>>()
  const errors: string[] = []
  let loaded = Promise.withResolvers<void>()
  let ids = 0
  let sessionId: string | undefined

  function send(method: string, params: object = {}): Promise<any> {
    const id = ++ids
    const answer = Promise.withResolvers<any>()
    waiting.set(id, answer)
    socket.send(JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) }))
    return answer.promise
  }
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message
    if (message.id !== undefined) {
      const answer = waiting.get(message.id)
      waiting.delete(message.id)
      if (message.error) answer?.reject(new Error(message.error.message))
      else answer?.resolve(message.result)
    } else if (message.method === 'Page.loadEventFired') loaded.resolve()
    else if (message.method === 'Runtime.exceptionThrown')
      errors.push(message.params.exceptionDetails.exception?.description ?? message.params.exceptionDetails.text)
    else if (message.method === 'Log.entryAdded' && message.params.entry.level === 'error')
      errors.push(message.params.entry.text)
  })

  const { targetId } = await send('Target.createTarget', { url: 'about:blank' })
  sessionId = (await send('Target.attachToTarget', { targetId, flatten: true })).sessionId
  await Promise.all([send('Page.enable'), send('Runtime.enable'), send('Log.enable')])

  async function evaluate<Value>(expression: string): Promise<Value> {
    const { result, exceptionDetails } = await send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
    return result.value as Value
  }
  return {
    errors,
    evaluate,
    async open(url) {
      loaded = Promise.withResolvers()
      const { loaderId } = await send('Page.navigate', { url })
      // Another fragment of the same page loads nothing.
      if (loaderId !== undefined) await loaded.promise
    },
    // Looked at anew on every frame, by the page itself.
    until: (expression) =>
      evaluate(
        `new Promise((resolve, reject) => { const end = Date.now() + ${untilMs}; const look = () => { let value; try { value = ${expression} } catch {} ; if (value) resolve(value); else if (Date.now() > end) reject(new Error('this never came true: ' + ${JSON.stringify(expression)})); else setTimeout(look, 16) }; look() })`,
      ),
    async resize(width) {
      await send('Emulation.setDeviceMetricsOverride', { width, height: 844, deviceScaleFactor: 1, mobile: false })
    },
    async type(text) {
      await send('Input.insertText', { text })
    },
    async press(key, command) {
      const windowsVirtualKeyCode = keyCodes[key] ?? key.toUpperCase().charCodeAt(0)
      const text = key === 'Enter' ? '\r' : key === 'Space' ? ' ' : undefined
      const event = { key: key === 'Space' ? ' ' : key, code: key, windowsVirtualKeyCode }
      await send('Input.dispatchKeyEvent', {
        type: 'keyDown',
        ...event,
        ...(text && { text }),
        ...(command && { commands: [command] }),
      })
      await send('Input.dispatchKeyEvent', { type: 'keyUp', ...event })
    },
    async choose(selector, paths) {
      const { result } = await send('Runtime.evaluate', { expression: toQuery(selector) })
      await send('DOM.setFileInputFiles', { objectId: result.objectId, files: paths })
    },
    async drop(selector, paths) {
      const { x, y } = await evaluate<{ x: number; y: number }>(
        `(() => { const place = ${toQuery(selector)}; place.scrollIntoView({ block: 'center' }); const { x, y, width, height } = place.getBoundingClientRect(); return { x: x + width / 2, y: y + height / 2 } })()`,
      )
      const data = { items: [], files: paths, dragOperationsMask: 1 }
      for (const type of ['dragEnter', 'dragOver', 'drop']) await send('Input.dispatchDragEvent', { type, x, y, data })
    },
    send,
    async [Symbol.asyncDispose]() {
      socket.close()
      const ended = browser.exitCode === null ? once(browser, 'exit') : null
      browser.kill()
      await ended
      rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    },
  }
}

const keyCodes: Readonly<Record<string, number>> = { Tab: 9, Enter: 13, Escape: 27, Space: 32, ArrowDown: 40 }

function toQuery(selector: string): string {
  return `document.querySelector(${JSON.stringify(selector)})`
}

/** The address that the browser prints when it listens. */
async function readAddress(browser: ChildProcess): Promise<string> {
  if (!browser.stderr) throw new Error('the browser has no stderr')
  const lines = createInterface({ input: browser.stderr })
  const deadline = setTimeout(() => browser.kill(), startMs)
  try {
    for await (const line of lines) {
      const address = /^DevTools listening on (ws:\/\/\S+)/.exec(line)?.[1]
      if (address) return address
    }
    throw new Error('the browser ended before it listened')
  } finally {
    clearTimeout(deadline)
    // Nobody reads further; the pipe must not fill up.
    browser.stderr.resume()
  }
}
