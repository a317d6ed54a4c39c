// Which method a route takes, and what the others are told (P149, P157).
import { createRouterTransport } from '@connectrpc/connect'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { startBareGateway } from './bare-gateway.ts'
import { expectProblem } from './problem.ts'
import { sendRaw } from './raw-http.ts'

const app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
afterAll(() => app[Symbol.asyncDispose]())

const allowed = {
  '/v1/quotes': ['POST'],
  '/v1/generate': ['POST'],
  '/v1/run': ['POST'],
  '/v1/models': ['GET', 'HEAD'],
  '/v1/models/categories': ['GET', 'HEAD'],
  '/v1/models/test/nothing/text-to-image': ['GET', 'HEAD'],
  '/v1/jobs': ['GET', 'HEAD'],
  '/v1/jobs/job_x': ['DELETE', 'GET', 'HEAD'],
  '/v1/jobs/job_x/cancel': ['POST'],
  '/v1/jobs/job_x/events': ['GET', 'HEAD'],
  '/v1/wallet': ['GET', 'HEAD'],
  '/v1/wallet/entries': ['GET', 'HEAD'],
  '/healthz': ['GET', 'HEAD'],
  '/readyz': ['GET', 'HEAD'],
  '/metrics': ['GET', 'HEAD'],
  '/openapi.json': ['GET', 'HEAD'],
  '/problems/internal': ['GET', 'HEAD'],
  '/': ['GET', 'HEAD'],
  '/console/main.ts': ['GET', 'HEAD'],
}
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE', 'QUERY']

const send = (method: string, path: string) =>
  sendRaw(app.url, { method, path, headers: { authorization: `Bearer ${app.account.key}` } })

describe.each(Object.entries(allowed))('%s', (path, known) => {
  test.each(methods.filter((method) => !known.includes(method)))(
    '%s is not allowed, and Allow says what is',
    async (method) => {
      const answer = await sendRaw(app.url, { method, path })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, known.join(', ')])
      if (method !== 'HEAD') expectProblem(answer, app.url, 'method_not_allowed')
    },
  )
})

test.each(Object.entries(allowed).filter(([path, known]) => known.includes('HEAD') && path !== '/metrics'))(
  'HEAD %s answers as GET does, without a body',
  async (path) => {
    const [head, get] = await Promise.all([send('HEAD', path), send('GET', path)])
    expect([head.status, head.text]).toEqual([get.status, ''])
    for (const name of ['content-type', 'content-length']) expect(head.headers.get(name)).toBe(get.headers.get(name))
  },
)

test('HEAD of a job that runs ends at once', async () => {
  const { body } = await app.generate('test/nothing/text-to-image', { prompt: 'x' }, { wait: false })
  const head = await send('HEAD', `/v1/jobs/${body.job_id}/events`)
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
})

test('where nothing is served no method is allowed', async () => {
  for (const method of ['GET', 'POST', 'DELETE', 'TRACE', 'PROPFIND']) {
    const answer = await sendRaw(app.url, { method, path: '/v1/nothing' })
    expectProblem(answer, app.url, 'route_not_found')
    expect(answer.headers.get('allow')).toBeNull()
  }
})

test('a body of any kind and size does not change that nothing is served there', async () => {
  for (const type of ['application/json', 'text/plain', 'nonsense']) {
    for (const body of ['{', 'x'.repeat(2_000_000)]) {
      const answer = await sendRaw(app.url, {
        method: 'POST',
        path: '/v1/nothing',
        headers: { 'content-type': type },
        body,
      })
      expectProblem(answer, app.url, 'route_not_found')
    }
  }
})

test('a gateway that is asked for a file says where files are', async () => {
  await using gateway = await startBareGateway(createRouterTransport(() => {}))
  const response = await fetch(`http://127.0.0.1:${gateway.port}/assets/job_x/0.png`)
  expect(await response.json()).toMatchObject({
    code: 'route_not_found',
    detail: expect.stringMatching(/^Nothing is served at GET .* MEDIAGEN_PUBLIC_URL of the core must lead to the core/),
  })
})
