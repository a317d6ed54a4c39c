// Where webhooks are never sent: every address that is not public, however it is spelled. Checked when a connection is made.
import type { lookup } from 'node:dns'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { createPublicAgent, isPublicAddress } from '../../src/webhooks/public-agent.ts'
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

describe('the agent', () => {
  /** Resolves every name to these addresses. */
  const resolveTo = (...addresses: string[]) =>
    ((_name: string, _options: object, callback: (error: null, found: object[]) => void) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )) as unknown as typeof lookup

  async function refusal(url: string, resolve: typeof lookup): Promise<unknown> {
    const dispatcher = createPublicAgent({ allowPrivate: false, timeoutMs: 200, resolve })
    const error: unknown = await request(url, { dispatcher }).then(
      () => 'answered',
      (reason: unknown) => reason,
    )
    await dispatcher.destroy()
    return error
  }

  test('refuses a name of which any address is private, in whatever order', async () => {
    for (const addresses of [['93.184.215.14', '127.0.0.1'], ['10.0.0.1', '93.184.215.14'], ['::1'], []])
      for (const scheme of ['http', 'https'])
        expect(await refusal(`${scheme}://name.test/`, resolveTo(...addresses))).toMatchObject({
          name: 'PrivateAddressError',
        })
  })

  test('looks a name up once: where it led when it was checked is where it connects', async () => {
    await using receiver = await openReceiver()
    let lookups = 0
    const rebinding = ((name: string, options: object, callback: () => void) => {
      lookups += 1
      // Of IPv6 addresses that may be given out, one that nobody has.
      const found = lookups === 1 ? '3ffe::1' : '127.0.0.1'
      return (resolveTo(found) as any)(name, options, callback)
    }) as unknown as typeof lookup
    await refusal(`http://rebinding.test:${receiver.port}/`, rebinding)
    expect([lookups, receiver.received.length]).toEqual([1, 0])
  })

  test.each(['93.184.215.14', '1.1.1.1', '2606:4700::1111', '2a00:1450:4001::1'])('takes %s for public', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  test.each(['', 'localhost', '127.0.0.1', '::127.0.0.1', '::ffff:8.8.8.8.8', '4000::1', '100::1', '2001:db8::1'])(
    'does not take "%s" for public',
    (address) => {
      expect(isPublicAddress(address)).toBe(false)
    },
  )
})
