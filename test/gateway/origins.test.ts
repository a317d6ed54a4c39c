// Scripts of other websites in browsers (CORS) (P133).
import { createClient } from '@connectrpc/connect'
import { createGrpcWebTransport } from '@connectrpc/connect-node'
import { afterAll, describe, expect, test } from 'vitest'
import { CatalogService } from '../../gen/mediagen/v1/catalog_pb.ts'
import { startTestApp } from '../test-app.ts'
import { expectProblem } from './problem.ts'

const origin = 'https://app.example'
const app = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_CORS_ORIGINS: `${origin}, https://other.example` })
afterAll(() => app[Symbol.asyncDispose]())

const preflight = (path: string, headers: Record<string, string>) =>
  app.send(path, {
    method: 'OPTIONS',
    key: null,
    headers: { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization', ...headers },
  })

describe('MEDIAGEN_CORS_ORIGINS', () => {
  test.each(['/v1/generate', '/v1/quotes', '/v1/nothing', '/mediagen.v1.QuotesService/CreateQuote'])(
    'a preflight of %s is answered without a key',
    async (path) => {
      const { status, headers } = await preflight(path, { origin })
      expect(status).toBe(204)
      expect(headers.get('access-control-allow-origin')).toBe(origin)
      expect(headers.get('vary')).toBe('Origin')
      expect(headers.get('access-control-allow-methods')).toContain('POST')
      expect(headers.get('access-control-allow-headers')).toMatch(
        /Authorization.*Idempotency-Key.*Mediagen-Max-Credits.*Traceparent, Tracestate.*X-Stainless-Retry-Count/,
      )
      expect(headers.get('access-control-allow-credentials')).toBeNull()
    },
  )

  test.each([
    ['an answer', '/v1/wallet', app.account.key],
    ['a refusal of a key', '/v1/wallet', null],
    ['a route that is not there', '/v1/nothing', app.account.key],
  ])('%s can be read', async (_what, path, key) => {
    const { headers } = await app.send(path, { key, headers: { origin } })
    expect(headers.get('access-control-allow-origin')).toBe(origin)
    expect(headers.get('access-control-expose-headers')).toMatch(/Mediagen-Job.*Retry-After.*X-Should-Retry/)
  })

  test('gRPC-Web can be read', async () => {
    const seen: (string | null)[] = []
    const transport = createGrpcWebTransport({ baseUrl: app.app.httpUrl, httpVersion: '1.1' })
    const headers = { origin, authorization: `Bearer ${app.account.key}` }
    await createClient(CatalogService, transport).listModels(
      {},
      { headers, onHeader: (answer) => seen.push(answer.get('access-control-allow-origin')) },
    )
    expect(seen).toEqual([origin])
  })

  test('other origins learn nothing, and their preflight is refused', async () => {
    const other = 'https://evil.example'
    const { headers } = await app.send('/v1/wallet', { headers: { origin: other } })
    expect(headers.get('access-control-allow-origin')).toBeNull()
    const refused = await preflight('/v1/quotes', { origin: other })
    expectProblem(refused, app.url, 'method_not_allowed')
    expect(refused.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('an OPTIONS request that is not a preflight is refused as usual', async () => {
    expectProblem(
      await app.send('/v1/quotes', { method: 'OPTIONS', headers: { origin } }),
      app.url,
      'method_not_allowed',
    )
  })

  test('* allows all', async () => {
    await using open = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_CORS_ORIGINS: '*' })
    const { headers } = await open.send('/v1/wallet', { headers: { origin: 'https://any.example' } })
    expect(headers.get('access-control-allow-origin')).toBe('*')
  })

  test('by default no origin is allowed', async () => {
    await using closed = await startTestApp({ MEDIAGEN_ROLES: 'api' })
    const { headers } = await closed.send('/v1/wallet', { headers: { origin } })
    expect(headers.get('access-control-allow-origin')).toBeNull()
    expect(headers.get('vary')).toBeNull()
  })
})
