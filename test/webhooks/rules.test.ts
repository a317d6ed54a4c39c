// The rules of webhooks: when a delivery is tried again, which addresses may be registered, and how a body is signed.
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { createWebhookSecret, findBadWebhookUrl, toSecretText } from '../../src/services/messages/webhook-endpoint.ts'
import { planDelivery } from '../../src/webhooks/retries.ts'
import { signWebhook, toWebhookBody } from '../../src/webhooks/signature.ts'

const anywhere = { isRefusedHost: () => false, findRefusedPort: () => null }
const maxAttempts = 12
const refused = { responseStatus: 500, error: 'The endpoint answered 500.', durationMs: 1 }
const delays = (random: number) =>
  Array.from({ length: maxAttempts }, (_, index) => planDelivery(index + 1, maxAttempts, refused, random)).map((next) =>
    next.status === 'pending' ? next.waitMs / 1000 : next.status,
  )

describe('a delivery', () => {
  test('that failed is tried again after 5 s, then ever later up to 4 h, over a day, then given up', () => {
    expect(delays(0)).toEqual([5, 20, 80, 320, 1280, 5120, 14400, 14400, 14400, 14400, 14400, 'failed'])
    expect(delays(1)).toEqual([6, 24, 96, 384, 1536, 6144, 17280, 17280, 17280, 17280, 17280, 'failed'])
  })

  test('P198 is not tried again before the endpoint wants it, up to the longest wait', () => {
    const requested = (requestedMs: number | null, attempt = 1) =>
      planDelivery(attempt, maxAttempts, refused, 0, requestedMs)
    expect(requested(120_000)).toEqual({ status: 'pending', waitMs: 120_000 })
    expect(requested(1000)).toEqual({ status: 'pending', waitMs: 5000 })
    expect(requested(1e12)).toEqual({ status: 'pending', waitMs: 14_400_000 })
    expect(requested(0, 3)).toEqual({ status: 'pending', waitMs: 80_000 })
    expect(requested(120_000, maxAttempts)).toEqual({ status: 'failed' })
  })

  test('that went well is delivered, also at the last attempt', () => {
    const taken = { ...refused, responseStatus: 204, error: null }
    expect(planDelivery(1, maxAttempts, taken, 0.5)).toEqual({ status: 'delivered' })
    expect(planDelivery(maxAttempts, maxAttempts, taken, 0.5)).toEqual({ status: 'delivered' })
    expect(planDelivery(maxAttempts + 3, maxAttempts, refused, 0.5)).toEqual({ status: 'failed' })
  })
})

describe('a signature', () => {
  const secret = createWebhookSecret()
  const library = new Webhook(toSecretText(secret))
  const nowMs = Date.now()
  const body = toWebhookBody('job.failed', nowMs, { prompt: 'ünïcode 🌅' })

  test('is the one that the published library makes, and verifies', () => {
    const headers = signWebhook([secret], 'dlv_1', nowMs, body)
    expect(headers['webhook-signature']).toBe(library.sign('dlv_1', new Date(nowMs), body))
    expect(library.verify(body, headers)).toMatchObject({ type: 'job.failed', data: { prompt: 'ünïcode 🌅' } })
  })

  test('does not fit another id, time, body or secret', () => {
    const headers = signWebhook([secret], 'dlv_1', nowMs, body)
    const later = String(Number(headers['webhook-timestamp']) + 1)
    expect(() => library.verify(body, { ...headers, 'webhook-id': 'dlv_2' })).toThrow('No matching signature')
    expect(() => library.verify(body, { ...headers, 'webhook-timestamp': later })).toThrow('No matching signature')
    expect(() => library.verify(`${body} `, headers)).toThrow('No matching signature')
    const other = new Webhook(toSecretText(createWebhookSecret()))
    expect(() => other.verify(body, headers)).toThrow('No matching signature')
  })

  test('is made with every secret, and each verifies', () => {
    const other = createWebhookSecret()
    const headers = signWebhook([secret, other], 'dlv_1', nowMs, body)
    expect(headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/)
    for (const each of [secret, other]) expect(new Webhook(toSecretText(each)).verify(body, headers)).toBeDefined()
  })

  test('of long ago is refused by the library', () => {
    expect(() => library.verify(body, signWebhook([secret], 'dlv_1', nowMs - 400_000, body))).toThrow('too old')
  })
})

test.each(['https://example.com', 'http://example.com:8080/a?b=c', 'https://bücher.example/', 'http://[2001:db8::1]/'])(
  '%s may be registered',
  (url) => expect(findBadWebhookUrl(url, anywhere)).toBeNull(),
)

test.each(['example.com', '//example.com', 'javascript:alert(1)', 'data:,x', 'https://', 'http://a@b/', 'http://a/#b'])(
  '%s may not be registered',
  (url) => expect(findBadWebhookUrl(url, anywhere)).toMatch(/^must /),
)
