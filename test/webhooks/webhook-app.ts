// What the tests of webhooks share: a server that may send to 127.0.0.1, endpoints on it, and jobs that end.
import { expect } from 'vitest'
import type { Overrides } from '../../src/app/app.ts'
import { startTestApp, type TestAccount, type TestApp } from '../test-app.ts'

const nothing = 'test/nothing/text-to-image'

/** A server under test, with what webhooks need. */
export interface WebhookApp extends AsyncDisposable {
  readonly app: TestApp
  /** Registers an endpoint; answers with its record, secret included. */
  register(url: string, account?: TestAccount): Promise<any>
  /** Runs a job to its end, by itself one without outputs; answers with its record. */
  runJob(model?: string, account?: TestAccount): Promise<any>
  /** Waits until no delivery to an account is under way or to come. */
  delivered(account?: TestAccount): Promise<void>
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
    runJob: async (model = nothing, account = app.account) =>
      (await app.generate(model, { prompt: 'x' }, { account })).body,
    async delivered({ accountId } = app.account) {
      const pending = async () =>
        (await app.admin.findDeliveries({ accountId })).deliveries.filter(({ finishedAt }) => !finishedAt).length
      await expect.poll(pending).toBe(0)
    },
    deliveries: async (webhookId, { key } = app.account) =>
      (await app.send(`/v1/webhooks/${webhookId}/deliveries`, { key })).body.data,
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  }
}
