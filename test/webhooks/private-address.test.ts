// Where webhooks are never sent: every address that is not public, however it is spelled. Checked when a connection is made.
import { describe, expect, test } from 'vitest'
import { openReceiver } from './receiver.ts'
import { startWebhookApp } from './webhook-app.ts'

const hosts = [
  ['plain', '127.0.0.1'],
  ['decimal', '2130706433'],
  ['hexadecimal', '0x7f000001'],
  ['octal', '0177.0.0.01'],
  ['short', '127.1'],
  ['unspecified', '0.0.0.0'],
  ['full-width digits', '１２７.0.0.1'],
  ['a name that leads to it', 'localhost'],
  ['IPv6 loopback', '[::1]'],
  ['IPv6 unspecified', '[::]'],
  ['v4-mapped', '[::ffff:127.0.0.1]'],
  ['v4-mapped in hexadecimal', '[::ffff:7f00:1]'],
  ['v4-compatible', '[::127.0.0.1]'],
  ['NAT64', '[64:ff9b::7f00:1]'],
  ['6to4', '[2002:7f00:1::]'],
  ['unique local', '[fd00::1]'],
  ['link-local', '[fe80::1]'],
  ['cloud metadata', '169.254.169.254'],
  ['carrier-grade NAT', '100.64.0.1'],
  ['private network', '10.0.0.1'],
  ['home network', '192.168.1.1'],
  ['broadcast', '255.255.255.255'],
  ['multicast', '224.0.0.1'],
] as const

describe('unless the setting allows it', () => {
  test('no spelling of a private address is sent to, and each refusal is recorded in words', async () => {
    await using hooks = await startWebhookApp({ MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'false' })
    const { app } = hooks
    await using receiver = await openReceiver()
    // An account may have ten endpoints.
    const accounts = await Promise.all([1, 2, 3].map(() => app.createAccount(10)))
    const endpoints = []
    for (const [index, [spelling, host]] of hosts.entries()) {
      const account = accounts[index % accounts.length]
      const { webhook_id } = await hooks.register(`http://${host}:${receiver.port}/`, account)
      endpoints.push({ spelling, webhook_id, account })
    }
    for (const account of accounts) await hooks.runJob('test/instant/text-to-image', account)
    for (const { spelling, webhook_id, account } of endpoints) {
      const read = async () => (await hooks.deliveries(webhook_id, account))[0]
      await expect.poll(async () => (await read()).attempts.length, { message: spelling }).toBeGreaterThan(0)
      const { status, error, attempts } = await read()
      expect(error, spelling).toMatch(/The address was refused: ".+" does not lead to a public address/)
      expect([status, attempts[0].response_status]).toEqual(['pending', null])
    }
    expect(receiver.received).toEqual([])
  })
})
