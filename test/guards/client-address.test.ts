// Whose address counts behind proxies: what a trusted one says, and nobody else.
import { expect, test } from 'vitest'
import { createFindClient, parseProxies, toClientNetwork } from '../../src/guards/client-address.ts'

const find = createFindClient(parseProxies('10.0.0.0/8, 192.0.2.7, fd00::/8'))

test.each([
  ['nobody is trusted by default', createFindClient(parseProxies('')), '127.0.0.1', '203.0.113.9', '127.0.0.1'],
  ['a stranger says what it likes', find, '203.0.113.1', '203.0.113.9', '203.0.113.1'],
  ['a trusted proxy is believed', find, '10.1.2.3', '203.0.113.9', '203.0.113.9'],
  ['so is one that is written as IPv6', find, '::ffff:10.1.2.3', '203.0.113.9', '203.0.113.9'],
  ['only the last entry is its own', find, '10.1.2.3', '198.51.100.1, 203.0.113.9', '203.0.113.9'],
  ['a chain of trusted proxies is followed', find, '10.1.2.3', '203.0.113.9, 192.0.2.7,10.9.9.9', '203.0.113.9'],
  ['a chain of nothing but proxies ends at the first', find, '10.1.2.3', '10.0.0.1, 10.0.0.2', '10.0.0.1'],
  ['what is no address ends the chain', find, '10.1.2.3', '203.0.113.9, unknown, 10.9.9.9', '10.9.9.9'],
  ['a port is no part of an address', find, '10.1.2.3', '203.0.113.9:5678', '203.0.113.9'],
  ['nor are brackets and quotes', find, '10.1.2.3', '"[2001:db8::1]:80"', '2001:db8::1'],
  ['nor brackets alone', find, '10.1.2.3', ' [2001:db8::1] ', '2001:db8::1'],
  ['nor is a zone', find, '10.1.2.3', 'fe80::1%eth0', 'fe80::1'],
  ['a trusted proxy with a port is followed', find, '10.1.2.3', '203.0.113.9:1 , 10.9.9.9:2', '203.0.113.9'],
  ['IPv4 in brackets', find, '10.1.2.3', '[203.0.113.9]:80', '203.0.113.9'],
  ['what only looks like an address is none', find, '10.1.2.3', '203.0.113.9:port', '10.1.2.3'],
  ['nor is this', find, '10.1.2.3', '[]:80', '10.1.2.3'],
  ['nor this', find, '10.1.2.3', '999.0.113.9:80', '10.1.2.3'],
  ['an empty header says nothing', find, '10.1.2.3', '', '10.1.2.3'],
  ['neither does none', find, 'fd00::1', null, 'fd00::1'],
])('%s', (_title, find, peer, forwarded, client) => {
  expect(find(peer, forwarded)).toBe(client)
})

test.each([
  ['203.0.113.9', '203.0.113.9'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['nonsense', 'unknown'],
  [null, 'unknown'],
])('%s counts as %s', (address, network) => {
  expect(toClientNetwork(address)).toBe(network)
})

test('names are no proxies: where they lead may change', () => {
  expect(() => parseProxies('10.0.0.1, proxy.internal')).toThrow(/addresses or networks/)
})
