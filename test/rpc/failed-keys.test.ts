// Failed keys are counted by address at every door alike.
import { expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { openForeignClient } from './foreign-client.ts'

const wrongKey = `mgk_${'0'.repeat(43)}`

test('gRPC and Connect share one count, and keys that work go on working', async () => {
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_FAILED_KEYS_PER_MINUTE: '4' })
  using client = await openForeignClient(app.app.grpcUrl, app.account.key)
  const ask = () => client.refusal('WalletService/GetWallet', {}, { key: wrongKey })
  const askConnect = (key: string) => app.send('/mediagen.v1.WalletService/GetWallet', { key, body: {} })
  for (let i = 0; i < 2; i++) {
    expect((await ask()).detail.code).toBe('invalid_api_key')
    expect((await askConnect(wrongKey)).status).toBe(401)
  }
  const refused = await ask()
  expect(refused).toMatchObject({ status: 'RESOURCE_EXHAUSTED', detail: { code: 'rate_limited' } })
  expect(refused.detail.retry_after_seconds).toBe(15)
  const answer = await askConnect(wrongKey)
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '15'])
  expect((await askConnect(app.account.key)).status).toBe(200)
  expect(await client.call('WalletService/GetWallet', {})).toBeDefined()
})

test('over gRPC a gateway is believed when the core trusts it', async () => {
  await using app = await startTestApp({
    MEDIAGEN_ROLES: 'api',
    MEDIAGEN_FAILED_KEYS_PER_MINUTE: '1',
    MEDIAGEN_TRUSTED_PROXIES: '127.0.0.0/8',
  })
  using client = await openForeignClient(app.app.grpcUrl, app.account.key)
  const askFor = async (address: string) => {
    const metadata = { 'x-forwarded-for': address }
    return (await client.refusal('WalletService/GetWallet', {}, { key: wrongKey, metadata })).detail.code
  }
  expect(await askFor('203.0.113.1')).toBe('invalid_api_key')
  expect(await askFor('203.0.113.1')).toBe('rate_limited')
  expect(await askFor('203.0.113.2')).toBe('invalid_api_key')
  expect(await askFor('2001:db8::1')).toBe('invalid_api_key')
  expect(await askFor('2001:db8::2'), 'of IPv6 a network is one client').toBe('rate_limited')
})
