// Where a provider's key goes.
import { expect, test } from 'vitest'
import { getsCredentials } from '../src/outgoing/upstream-client.ts'

test.each([
  ['its own origin', 'https://api.bfl.ai/v1/x', 'https://api.bfl.ai', true],
  ['another host of its domain', 'https://api.us1.bfl.ai/v1/get_result?id=1', 'https://api.bfl.ai', true],
  ['another host, in the clear', 'http://api.us1.bfl.ai/x', 'https://api.bfl.ai', false],
  ['a host whose name ends alike', 'https://evilbfl.ai/x', 'https://api.bfl.ai', false],
  ['a host that has the domain before its own', 'https://bfl.ai.evil.test/x', 'https://api.bfl.ai', false],
  ['the domain, when base_url is a proxy with a key of its own', 'https://api.bfl.ai/x', 'https://proxy.test', false],
  ['the proxy', 'https://proxy.test/x', 'https://proxy.test', true],
])('%s', (_, url, base, gets) => {
  expect(getsCredentials(new URL(url), new URL(base), 'bfl.ai')).toBe(gets)
  if (new URL(url).origin !== base) expect(getsCredentials(new URL(url), new URL(base))).toBe(false)
})
