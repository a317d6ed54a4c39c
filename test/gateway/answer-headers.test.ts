// What every answer says to browsers and caches, and what a request must say of its host (P128, P129).
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { expectProblem } from './problem.ts'
import { exchange, parseAnswer } from './raw-http.ts'

const app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
afterAll(() => app[Symbol.asyncDispose]())

const nothing = "default-src 'none'; frame-ancestors 'none'"

describe('no answer can be misread as another type, framed, or leaked by a referrer', () => {
  test.each([
    ['GET', '/v1/wallet'],
    ['GET', '/v1/models'],
    ['GET', '/v1/nothing'],
    ['GET', '/v1/%zz'],
    ['POST', '/v1/quotes'],
    ['DELETE', '/v1/quotes'],
    ['GET', '/healthz'],
    ['GET', '/readyz'],
    ['GET', '/openapi.json'],
    ['GET', '/assets/none'],
    ['GET', '/console/none.js'],
  ])('%s %s', async (method, path) => {
    const { headers } = await app.send(path, { method })
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-security-policy')).toBe(nothing)
    expect(headers.get('referrer-policy')).toBe('no-referrer')
  })

  test.each(['/', '/problems', '/problems/internal'])('%s is a page with a policy of its own', async (path) => {
    const { headers, body } = await app.send(path)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("base-uri 'none'")
    expect(policy).not.toContain('unsafe')
    expect(body).not.toMatch(/ style="| on\w+="/)
  })
})

test.each([
  ['GET', '/v1/wallet'],
  ['GET', '/v1/jobs'],
  ['GET', '/v1/models'],
  ['GET', '/v1/jobs/job_none'],
  ['GET', '/v1/nothing'],
  ['POST', '/v1/quotes'],
])('%s %s is kept by no cache', async (method, path) => {
  expect((await app.send(path, { method })).headers.get('cache-control')).toBe('no-store')
})

describe('a request names one host', () => {
  const ask = async (lines: readonly string[], version = '1.1') =>
    parseAnswer(await exchange(app.url, Buffer.from([`GET /healthz HTTP/${version}`, ...lines, '', ''].join('\r\n'))))

  test.each([
    ['two', ['Host: a', 'Host: b']],
    ['two that are equal', ['Host: a', 'hOST: a']],
    ['none', ['Accept: */*']],
    // Addresses in answers begin with it.
    ['nothing instead', ['Host: ']],
    ...['a b', '[', '<script>', 'me@a', 'a/b', 'a?b', 'a#b', 'a\\b', 'a"b', 'a:99999'].map(
      (host) => [`\`${host}\` instead`, [`Host: ${host}`]] as [string, string[]],
    ),
  ])('%s of them: refused, and the connection is closed', async (_what, lines) => {
    const answer = await ask(lines)
    expectProblem(answer, app.url, 'invalid_request')
    expect(answer.body.detail).toContain('Host header')
    expect(answer.headers.get('connection')).toBe('close')
  })

  test.each(['a', 'my_host:80', 'a.example:65535', '127.0.0.1:1', '[::1]:8080'])('%s is one', async (host) => {
    expect((await ask([`Host: ${host}`, 'Connection: close'])).status).toBe(200)
  })

  test('HTTP/1.0 knows no Host', async () => {
    expect((await ask([], '1.0')).status).toBe(200)
    expectProblem(await ask(['Host: a', 'Host: b'], '1.0'), app.url, 'invalid_request')
  })
})
