// Where webhooks are never sent: every address that is not public, however it is spelled. Addresses are refused at
// registration, and whatever is registered is checked when a connection is made.
import { mkdtempSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openReceiver } from '../outgoing/receiver.ts'
import type { TestAccount } from '../test-app.ts'
import { startWebhookApp } from './webhook-app.ts'

const hosts = [
  ['plain', '127.0.0.1'],
  ['decimal', '2130706433'],
  ['hexadecimal', '0x7f000001'],
  ['octal', '0177.0.0.01'],
  ['short', '127.1'],
  ['unspecified', '0.0.0.0'],
  ['full-width digits', '１２７.0.0.1'],
  ['octal in one number', '017700000001'],
  ['hexadecimal in parts', '0x7f.0.0.0x1'],
  ['a trailing dot', '127.0.0.1.'],
  ['a name that leads to it', 'localhost'],
  ['the name with a trailing dot, in capitals', 'LocalHost.'],
  ['the name in full-width letters', 'ｌｏｃａｌｈｏｓｔ'],
  ['the name with another full stop', 'localhost。'],
  ['a name below it', 'any.localhost'],
  ['its name in a hosts file', 'localhost.localdomain'],
  ['its name for IPv6', 'ip6-localhost'],
  ['another one', 'ip6-loopback'],
  ["the machine's own name", hostname()],
  ["the machine's own name, with a trailing dot, in capitals", `${hostname().toUpperCase()}.`],
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
  test('no spelling of a private address is registered, and no name of this machine; a name of others is', async () => {
    await using hooks = await startWebhookApp({ MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'false' })
    for (const [spelling, host] of hosts) {
      const { body } = await hooks.app.send('/v1/webhooks', { body: { url: `http://${host}:9000/hook` } })
      expect(body, spelling).toMatchObject({
        status: 400,
        code: 'invalid_request',
        errors: [{ pointer: '/url', detail: expect.stringContaining('must lead to a public address') }],
      })
    }
    await hooks.register('https://localhost.example.com/hook')
    await hooks.register('http://93.184.215.14/hook')
    await hooks.register('http://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/hook')
  })

  test('no spelling of a private address is sent to, and each refusal is recorded in words', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mediagen-hooks-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    await using receiver = await openReceiver()
    const endpoints = []
    const accounts: TestAccount[] = []
    {
      // Registered while the setting allowed it.
      await using before = await startWebhookApp({ MEDIAGEN_DATA_DIR: folder })
      // An account may have ten endpoints.
      for (let i = 0; i < 4; i++) accounts.push(await before.app.createAccount(10))
      for (const [index, [spelling, host]] of hosts.entries()) {
        const account = accounts[index % accounts.length]
        const { webhook_id } = await before.register(`http://${host}:${receiver.port}/`, account)
        endpoints.push({ spelling, webhook_id, account })
      }
    }
    await using hooks = await startWebhookApp({ MEDIAGEN_DATA_DIR: folder, MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'false' })
    for (const account of accounts) await hooks.runJob(undefined, account)
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
