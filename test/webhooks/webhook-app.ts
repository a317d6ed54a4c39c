// What the tests of webhooks share: a server that may send to 127.0.0.1, endpoints on it, and jobs that end.
import type { Overrides } from '../../src/app/app.ts'
import { startTestApp, type TestAccount, type TestApp } from '../test-app.ts'

const instant = 'test/instant/text-to-image'

/** A server under test, with what webhooks need. */
export interface WebhookApp extends AsyncDisposable {
  readonly app: TestApp
  /** Registers an endpoint; answers with its record, secret included. */
  register(url: string, account?: TestAccount): Promise<any>
  /** Runs a job to its end; answers with its record. */
  runJob(model?: string, account?: TestAccount): Promise<any>
  /** The deliveries of an endpoint, newest first. */
  deliveries(webhookId: string, account?: TestAccount): Promise<any[]>
}

/** Starts a server that may send to private addresses, and waits long for answers, unless the settings say otherwise. */
export async function startWebhookApp(
  settings: Readonly<Record<string, string>> = {},
  overrides: Overrides = {},
): Promise<WebhookApp> {
  const usual = { MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'true', MEDIAGEN_WEBHOOK_SECONDS: '300' }
  const app = await startTestApp({ ...usual, ...settings }, overrides)
  return {
    app,
    async register(url, { key } = app.account) {
      const answer = await app.send('/v1/webhooks', { key, body: { url } })
      if (answer.status !== 201) throw new Error(`not registered: ${JSON.stringify(answer.body)}`)
      return answer.body
    },
    runJob: async (model = instant, account = app.account) =>
      (await app.generate(model, { prompt: 'x' }, { account })).body,
    deliveries: async (webhookId, { key } = app.account) =>
      (await app.send(`/v1/webhooks/${webhookId}/deliveries`, { key })).body.data,
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  }
}
