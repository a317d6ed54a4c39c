// Where media are never fetched from: every address that is not public, however it is spelled. All are refused in the same words.
import type { lookup } from 'node:dns'
import { mkdtempSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createUrlReader } from '../../../src/files/media/url.ts'
import { onlyPublic, parseAllowedHosts } from '../../../src/outgoing/hosts.ts'
import { openHost, startMediaApp } from './media-app.ts'

const hosts = [
  ['plain', '127.0.0.1'],
  ['another loopback address', '127.8.8.8'],
  ['decimal', '2130706433'],
  ['hexadecimal', '0x7f000001'],
  ['hexadecimal parts', '0x7f.0x0.0x0.0x1'],
  ['octal', '0177.0.0.01'],
  ['short', '127.1'],
  ['zero', '0'],
  ['unspecified', '0.0.0.0'],
  ['full-width digits', '１２７.0.0.1'],
  ['escaped', '%31%32%37.0.0.1'],
  ['a trailing dot', '127.0.0.1.'],
  ['localhost', 'localhost'],
  ['localhost in capitals, with a trailing dot', 'LOCALHOST.'],
  ['localhost in full-width letters', 'ｌｏｃａｌｈｏｓｔ'],
  ['a name below it', 'any.localhost'],
  ['its name in a hosts file', 'localhost.localdomain'],
  ['its name for IPv6', 'ip6-localhost'],
  ["the machine's own name", hostname()],
  ["the machine's own name, with a trailing dot, in capitals", `${hostname().toUpperCase()}.`],
  ['IPv6 loopback', '[::1]'],
  ['IPv6 loopback, written out', '[0:0:0:0:0:0:0:1]'],
  ['IPv6 unspecified', '[::]'],
  ['v4-mapped', '[::ffff:127.0.0.1]'],
  ['v4-mapped in hexadecimal', '[::ffff:7f00:1]'],
  ['v4-compatible', '[::127.0.0.1]'],
  ['NAT64', '[64:ff9b::7f00:1]'],
  ['local NAT64', '[64:ff9b:1::7f00:1]'],
  ['6to4', '[2002:7f00:1::]'],
  ['Teredo', '[2001:0:7f00:1::]'],
  ['unique local', '[fd00::1]'],
  ['link-local', '[fe80::1]'],
  ['cloud metadata', '169.254.169.254'],
  ['cloud metadata over IPv6', '[fd00:ec2::254]'],
  ['carrier-grade NAT', '100.64.0.1'],
  ['private networks', '10.0.0.1'],
  ['private networks', '172.16.0.1'],
  ['private networks', '192.168.1.1'],
  ['benchmarks', '198.18.0.1'],
  ['broadcast', '255.255.255.255'],
  ['multicast', '224.0.0.1'],
] as const

test('no spelling of a private address is fetched from, and all are said alike', async () => {
  await using media = await startMediaApp()
  await using host = await openHost((_request, response) => void response.end('no'))
  const refusals = await Promise.all(
    hosts.map(([, name]) => media.refusal({ image: `http://${name}:${host.port}/picture.png` })),
  )
  for (const [index, { code, message, retryable }] of refusals.entries()) {
    expect([code, retryable], hosts[index]?.join(' ')).toEqual(['invalid_media', false])
    expect(message, hosts[index]?.join(' ')).toMatch(
      /^image cannot be fetched: \S+ does not lead to a public address\.$/,
    )
  }
  expect(host.connections).toBe(0)
})

test.each([
  ['http://public.example@127.0.0.1/', /user name or password/],
  ['http://127.0.0.1:80@public.example/', /user name or password/],
  ['http://:@public.example/', /does not lead|could not be looked up/],
  ['http://public.example:25/', /the port 25/],
  ['https://public.example:22/', /the port 22/],
  ['https://public.example:6667/', /the port 6667/],
  [`http://public.example/${'x'.repeat(9000)}`, /more than 8192 characters/],
])('%.60s is refused', async (image, words) => {
  await using media = await startMediaApp()
  expect((await media.refusal({ image })).message).toMatch(words)
})

/** A resolver that finds these addresses for every name. */
function resolveTo(addresses: readonly string[]): typeof lookup {
  return ((_name: string, _options: object, callback: (error: Error | null, found: object[]) => void) =>
    addresses.length === 0
      ? callback(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), [])
      : callback(
          null,
          addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        )) as unknown as typeof lookup
}

/** Answers with the names of files that could not be fetched. */
async function read(reference: string, addresses: readonly string[], allowed = onlyPublic): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-reader-'))
  const resolve = resolveTo(addresses)
  await using reader = createUrlReader({ allowed, timeoutMs: 1000, resolve })
  const signal = new AbortController().signal
  try {
    await reader.read(
      { reference, field: 'image', accountId: 'acct_1', maxBytes: 1e6, take() {}, signal },
      join(folder, 'x'),
    )
    return 'read'
  } catch (error) {
    return (error as Error).message
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('a name that leads to a private address among others, or nowhere, is refused in one and the same way', async () => {
  await using host = await openHost((_request, response) => void response.end('no'))
  const expected = 'image cannot be fetched: name.example does not lead to a public address.'
  for (const addresses of [['93.184.215.14', '127.0.0.1'], ['127.0.0.1', '93.184.215.14'], ['::1'], ['10.0.0.1'], []])
    expect(await read(`http://name.example:${host.port}/`, addresses)).toBe(expected)
  expect(host.connections).toBe(0)
})

test.each([
  ['the public one first', ['93.184.215.14', '127.0.0.1']],
  ['the private one first', ['127.0.0.1', '93.184.215.14']],
  ['the private one in IPv6', ['93.184.215.14', '::ffff:127.0.0.1']],
])('a job whose URL names a host with a public and a private address fails, %s', async (_order, addresses) => {
  await using media = await startMediaApp({}, { resolve: resolveTo(addresses) })
  await using host = await openHost((_request, response) => void response.end('no'))
  expect(await media.refusal({ image: `http://mixed.example:${host.port}/picture.png` })).toEqual({
    code: 'invalid_media',
    message: 'image cannot be fetched: mixed.example does not lead to a public address.',
    retryable: false,
  })
  expect(host.connections).toBe(0)
})

test('an operator allows hosts one by one', async () => {
  await using host = await openHost((_request, response) => void response.end('yes'))
  const url = `http://name.example:${host.port}/`
  expect(await read(url, ['127.0.0.1'], parseAllowedHosts('name.example'))).toBe('read')
  expect(await read(url, ['127.0.0.1'], parseAllowedHosts('127.0.0.0/8'))).toBe('read')
  expect(await read(url, ['127.0.0.1'], parseAllowedHosts('other.example, 10.0.0.0/8'))).toContain('public address')
})
