// A page of a browser, driven as a person would: looked at, clicked, typed into, handed files.
import { expect } from 'vitest'

/** A page of the browser. */
export interface BrowserPage extends AsyncDisposable {
  /** What the page logged as an error, or threw. */
  readonly errors: readonly string[]
  open(url: string): Promise<void>
  /** Loads the page again, as its button does. */
  reload(): Promise<void>
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
  /** Sends a command of the DevTools protocol to the page. */
  readonly send: Send
}

/** Sends a command and answers with its result. */
export type Send = (method: string, params?: object) => Promise<any>

/** An event of the page. */
export interface PageEvent {
  readonly method: string
  readonly params: any
}

// Sooner than a test gives up, which would not know what it waited for.
const untilMs = 100_000

/** Drives a page; `listen` hands on its events, `close` ends it. */
export async function drivePage(
  send: Send,
  listen: (hear: (event: PageEvent) => void) => void,
  close: () => Promise<void>,
): Promise<BrowserPage> {
  const errors: string[] = []
  let loaded = Promise.withResolvers<void>()
  listen(({ method, params }) => {
    if (method === 'Page.loadEventFired') loaded.resolve()
    else if (method === 'Runtime.exceptionThrown')
      errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text)
    else if (method === 'Log.entryAdded' && params.entry.level === 'error') errors.push(params.entry.text)
  })
  await Promise.all([
    ...['Page.enable', 'Runtime.enable', 'Log.enable'].map((method) => send(method)),
    // Whichever page is in front: the clipboard is only for one that has the focus.
    send('Emulation.setFocusEmulationEnabled', { enabled: true }),
  ])

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
    async reload() {
      loaded = Promise.withResolvers()
      await send('Page.reload')
      await loaded.promise
    },
    // Evaluated again and again, by the page itself.
    async until(expression) {
      const look = (): Promise<unknown> =>
        evaluate(
          `new Promise((resolve, reject) => { const end = Date.now() + ${untilMs}; const look = () => { let value; try { value = ${expression} } catch {} ; if (value) resolve(value); else if (Date.now() > end) reject(new Error('this never came true: ' + ${JSON.stringify(expression)})); else setTimeout(look, 16) }; look() })`,
        )
      // Once more where the page was about to leave when it was asked.
      const value = await look().catch((error: unknown) => {
        if (String(error).includes('target navigated')) return look()
        throw error
      })
      expect(value, expression).toBeTruthy()
      return value as never
    },
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
    [Symbol.asyncDispose]: close,
  }
}

const keyCodes: Readonly<Record<string, number>> = {
  Tab: 9,
  Enter: 13,
  Escape: 27,
  Space: 32,
  ArrowLeft: 37,
  ArrowRight: 39,
  ArrowDown: 40,
}

function toQuery(selector: string): string {
  return `document.querySelector(${JSON.stringify(selector)})`
}
