// What tests of signing in share: a provider with servers that use it, and what people do with a browser.
import { setTimeout } from 'node:timers/promises'
import { startTestApp, type TestApp } from '../test-app.ts'
import { createBrowser, startProvider, type TestBrowser, type TestProvider } from './provider.ts'

/** A provider, and servers on the same data. */
export interface SignInSite extends AsyncDisposable {
  readonly provider: TestProvider
  /** Nobody can sign in here; its accounts are those of the others. */
  readonly base: TestApp
  /** Addresses to which the provider sends browsers back. */
  readonly redirectUris: string[]
  /** One more server, with these rules. */
  startServer(
    rules: string,
    settings?: Readonly<Record<string, string>>,
    overrides?: Parameters<typeof startTestApp>[1],
  ): Promise<TestApp>
}

/** Starts them. */
export async function startSite(): Promise<SignInSite> {
  const redirectUris: string[] = []
  const provider = await startProvider(() => redirectUris)
  const base = await startTestApp()
  return {
    provider,
    base,
    redirectUris,
    async startServer(rules, settings = {}, overrides = {}) {
      const { dataDir } = base.config
      const app = await startTestApp(
        { ...provider.settings, MEDIAGEN_OIDC_ACCESS: rules, MEDIAGEN_DATA_DIR: dataDir, ...settings },
        overrides,
      )
      redirectUris.push(`${app.app.httpUrl}/sign-in/callback`)
      return app
    },
    async [Symbol.asyncDispose]() {
      await base[Symbol.asyncDispose]()
      await provider.stop()
    },
  }
}

/** Signs in; the page where it ends. */
export async function signIn(url: string, browser: TestBrowser = createBrowser(), to = '') {
  const { url: end, response } = await browser.follow(`${url}/sign-in${to && `?to=${encodeURIComponent(to)}`}`)
  const text = await response.text()
  const token = browser.jar.get(new URL(url).host)?.get('mediagen-session') ?? null
  return { browser, end, status: response.status, text, token }
}

export async function read(browser: TestBrowser, url: string, init?: RequestInit) {
  const response = await browser.fetch(url, init)
  const text = await response.text()
  return {
    status: response.status,
    body: /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : text,
  }
}

/** Waits until a request is answered with the status. */
export async function awaitStatus(status: number, request: () => Promise<{ status: number }>): Promise<void> {
  while ((await request()).status !== status) await setTimeout(20)
}
