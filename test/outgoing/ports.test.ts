// Which ports of other hosts are connected to: a request must not be made to speak to mail servers, shells or chat.
import { lookup } from 'node:dns'
import { request } from 'undici'
import { expect, test } from 'vitest'
import { everyHost } from '../../src/outgoing/hosts.ts'
import { findRefusedPort, noFurtherPorts, parseAllowedPorts } from '../../src/outgoing/ports.ts'
import { createPublicAgent } from '../../src/outgoing/public-agent.ts'
import { openReceiver } from './receiver.ts'

const isRefused = (url: string, allowed = noFurtherPorts): boolean => findRefusedPort(allowed, new URL(url)) !== null

test.each(['http://a.test/', 'https://a.test/', 'http://a.test:443/', 'https://a.test:8443/', 'http://a.test:65535/'])(
  '%s is connected to',
  (url) => expect(isRefused(url)).toBe(false),
)

test.each([1, 21, 22, 23, 25, 53, 110, 143, 389, 445, 587, 993, 1023])('the port %i below 1024 is not', (port) => {
  expect(isRefused(`http://a.test:${port}/`)).toBe(true)
  expect(isRefused(`https://a.test:${port}/`)).toBe(true)
})

test('no port is connected to that browsers block', async () => {
  const blocked: number[] = []
  for (let port = 1024; port <= 65_535; port++) if (isRefused(`http://a.test:${port}/`)) blocked.push(port)
  expect(blocked).toEqual([
    1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
  ])
  // Node's own fetch keeps the same list.
  for (const port of blocked)
    await expect(fetch(`http://127.0.0.1:${port}/`), String(port)).rejects.toMatchObject({
      cause: { message: 'bad port' },
    })
})

test('MEDIAGEN_ALLOW_PORTS names further ones', () => {
  const allowed = parseAllowedPorts('25, 6667')
  expect(isRefused('http://a.test:25/', allowed)).toBe(false)
  expect(isRefused('http://a.test:6667/', allowed)).toBe(false)
  expect(isRefused('http://a.test:22/', allowed)).toBe(true)
  for (const wrong of ['smtp', '0', '65536', '25-30', '1.5', '-1'])
    expect(() => parseAllowedPorts(wrong), wrong).toThrow('must be ports, 1 to 65535, separated by commas')
})

test('the agent checks the port when it connects', async () => {
  await using receiver = await openReceiver()
  const agent = createPublicAgent({ allowed: everyHost, timeoutMs: 500, resolve: lookup })
  const refusal = (url: string): Promise<unknown> =>
    request(url, { dispatcher: agent }).then(
      () => 'answered',
      (error: Error) => error.name,
    )
  expect(await refusal('http://127.0.0.1:22/')).toBe('RefusedPortError')
  expect(await refusal('https://127.0.0.1:6667/')).toBe('RefusedPortError')
  expect(await refusal(receiver.url)).toBe('answered')
  await agent.destroy()
})
