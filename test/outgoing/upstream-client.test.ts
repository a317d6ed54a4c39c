// Where a provider's key goes, and that nothing is sent on a connection that may be closing.
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createUpstreamClient, getsCredentials, NoAnswer } from '../../src/outgoing/upstream-client.ts'
import { openReceiver } from './receiver.ts'

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

// Whoever reuses a connection cannot tell whether a request that was cut off had arrived.
test('every POST has a connection of its own', async () => {
  const sockets = new Set<object>()
  const server = createServer((request, response) => {
    sockets.add(request.socket)
    request.resume().on('end', () => response.end('{}'))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createUpstreamClient({ baseUrl, credentials: {} })
  for (let made = 1; made <= 3; made++) {
    await client.request({ method: 'POST', url: `${baseUrl}/x`, body: '{}', timeoutMs: 10_000, maxBytes: 100 })
    expect(sockets.size).toBe(made)
  }
  await client.close()
  await new Promise((done) => server.close(done))
})

test('a request that no header can carry was certainly not sent', async () => {
  await using receiver = await openReceiver()
  const baseUrl = new URL(receiver.url).origin
  const client = createUpstreamClient({ baseUrl, credentials: { authorization: 'Bearer sk\nsecret' } })
  const asked = client.request({ method: 'POST', url: `${baseUrl}/x`, body: '{}', timeoutMs: 10_000, maxBytes: 100 })
  const error = await asked.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(NoAnswer)
  expect(error).toMatchObject({ sent: false, message: 'a header of the request has a character that none may have' })
  expect(receiver.received).toEqual([])
  await client.close()
})
