// A headless Chromium, driven over the DevTools protocol by a plain WebSocket.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type BrowserPage, drivePage, type PageEvent } from './browser-page.ts'

const places = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
const startMs = 100_000

/** Path of the browser; undefined when this machine has none. */
export const chromiumPath = places.find((path) => path !== '' && existsSync(path))

/** A browser; its pages know nothing of each other's servers. */
export interface Browser extends AsyncDisposable {
  openPage(): Promise<BrowserPage>
}

interface Message {
  readonly id?: number
  readonly method?: string
  readonly sessionId?: string
  readonly result?: any
  readonly params?: any
  readonly error?: { readonly message: string }
}

/** Starts the browser. */
export async function openBrowser(path = chromiumPath ?? ''): Promise<Browser> {
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
  // It leaves files in its temporary folder when it is ended.
  const browser = spawn(path, [...options, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, TMPDIR: profile },
  })
  // Its own processes share its standard error: one that outlives it would go on writing into the profile.
  const closed = new Promise<void>((resolve) => browser.once('close', () => resolve()))
  const socket = new WebSocket(await readAddress(browser))
  await once(socket, 'open')
  const waiting = new Map<number, PromiseWithResolvers<any>>()
  const listeners = new Map<string, (event: PageEvent) => void>()
  let ids = 0

  function send(method: string, params: object, sessionId?: string): Promise<any> {
    const id = ++ids
    const answer = Promise.withResolvers<any>()
    waiting.set(id, answer)
    socket.send(JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) }))
    return answer.promise
  }
  socket.addEventListener('message', ({ data }) => {
    const { id, method, sessionId = '', result, params, error } = JSON.parse(String(data)) as Message
    if (id === undefined) {
      listeners.get(sessionId)?.({ method: method ?? '', params })
      return
    }
    const answer = waiting.get(id)
    waiting.delete(id)
    if (error) answer?.reject(new Error(error.message))
    else answer?.resolve(result)
  })
  return {
    async openPage() {
      const { targetId } = await send('Target.createTarget', { url: 'about:blank' })
      const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true })
      return drivePage(
        (method, params = {}) => send(method, params, sessionId),
        (hear) => listeners.set(sessionId, hear),
        async () => {
          listeners.delete(sessionId)
          await send('Target.closeTarget', { targetId })
        },
      )
    },
    async [Symbol.asyncDispose]() {
      socket.close()
      browser.kill()
      await closed
      rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    },
  }
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
