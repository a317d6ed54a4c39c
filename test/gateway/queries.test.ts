// Query strings: what is unknown, repeated or malformed is refused by name (P67, P79).
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { expectProblem, pointersOf } from './problem.ts'

const app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
afterAll(() => app[Symbol.asyncDispose]())

const lists = ['/v1/models', '/v1/models?grouped=true', '/v1/jobs', '/v1/wallet/entries']
const withQuery = (path: string, query: string): string => `${path}${path.includes('?') ? '&' : '?'}${query}`

async function expectRefused(path: string, names: readonly string[], method = 'GET'): Promise<void> {
  const answer = await app.send(path, { method })
  expectProblem(answer, app.url, 'invalid_request')
  expect(pointersOf(answer).toSorted()).toEqual(names.map((name) => `?${name}`).toSorted())
  expect(names.some((name) => answer.body.detail.includes(name))).toBe(true)
}

describe.each(lists)('%s', (path) => {
  test('limit is 100 and offset 0 by default', async () => {
    expect((await app.send(path)).body).toMatchObject({ limit: 100, offset: 0 })
  })

  test.each([1, 2, 499, 500])('a limit of %i is taken', async (limit) => {
    const { status, body } = await app.send(withQuery(path, `limit=${limit}`))
    expect([status, body.limit]).toEqual([200, limit])
    expect(body.data.length).toBeLessThanOrEqual(limit)
  })

  test.each(['0', '501', '-1', '1e2', '0x10', '1.0', '+5', '', ' 5', 'ten', '99999999999999999999', 'null', '٣'])(
    'limit outside 1…500, or no whole number, names the parameter: %j',
    (limit) => expectRefused(withQuery(path, `limit=${encodeURIComponent(limit)}`), ['limit']),
  )

  test.each(['-1', '1.5', '', 'x', 'Infinity', '99999999999999999999'])(
    'a negative offset, or one that is no whole number, names the parameter: %j',
    (offset) => expectRefused(withQuery(path, `offset=${offset}`), ['offset']),
  )

  test('an offset beyond the end is an empty page', async () => {
    const { status, body } = await app.send(withQuery(path, 'offset=1000000'))
    expect(status).toBe(200)
    expect(body).toMatchObject({ data: [], offset: 1_000_000, has_more: false })
  })
})

test.each(['TRUE', 'True', '1', 'yes', 'on', '', 'null', ' true', 'true '])(
  'a boolean that is neither true nor false names the parameter: %j',
  async (value) => {
    const written = encodeURIComponent(value)
    await expectRefused(`/v1/models?grouped=${written}`, ['grouped'])
    const body = { model: 'test/instant/text-to-image', input: { prompt: 'x' }, quote_id: 'quote_x' }
    const answer = await app.send(`/v1/generate?wait=${written}`, { headers: { 'idempotency-key': 'k' }, body })
    expectProblem(answer, app.url, 'invalid_request')
    expect(pointersOf(answer)).toEqual(['?wait'])
  },
)

test('every wrong parameter is listed, not only the first', () =>
  expectRefused('/v1/models?limit=0&offset=-1&grouped=maybe&colour=red', ['limit', 'offset', 'grouped', 'colour']))

test.each([
  'limit=1&limit=2',
  'offset=0&offset=0',
  'grouped=true&grouped=true',
  'search=a&search=b',
  'category=a&category=b',
])('a repeated parameter is refused by name: %s', (query) =>
  expectRefused(`/v1/models?${query}`, [query.split('=')[0] ?? '']),
)

test('an unknown category names the parameter and says which there are', async () => {
  const answer = await app.send('/v1/models?category=text-to-smell')
  expectProblem(answer, app.url, 'invalid_request')
  expect(pointersOf(answer)).toEqual(['?category'])
  expect(answer.body.detail).toContain('text-to-image')
  await expectRefused('/v1/models?category=text-to-smell&grouped=true', ['category'])
  await expectRefused('/v1/models?category=TEXT-TO-IMAGE', ['category'])
})

test('the category of models that are not ready is unknown', () =>
  expectRefused('/v1/models?category=video-to-video', ['category']))

test.each([
  ['GET', '/v1/models'],
  ['GET', '/v1/models/categories'],
  ['GET', '/v1/models/test/instant/text-to-image'],
  ['GET', '/v1/jobs'],
  ['GET', '/v1/jobs/job_x'],
  ['POST', '/v1/jobs/job_x/cancel'],
  ['GET', '/v1/jobs/job_x/events'],
  ['GET', '/v1/wallet'],
  ['GET', '/v1/wallet/entries'],
  ['GET', '/v1/usage'],
])('an unknown parameter is refused by name: %s %s', (method, path) =>
  expectRefused(`${path}?colour=red&__proto__=1`, ['colour', '__proto__'], method),
)

test('an unknown parameter of a POST is refused by name', async () => {
  for (const path of ['/v1/quotes', '/v1/generate']) {
    const body = {
      model: 'test/instant/text-to-image',
      input: { prompt: 'x' },
      ...(path.endsWith('e') && { quote_id: 'q' }),
    }
    const answer = await app.send(`${path}?async=true`, { headers: { 'idempotency-key': 'k' }, body })
    expectProblem(answer, app.url, 'invalid_request')
    expect(pointersOf(answer)).toEqual(['?async'])
  }
})

test('a parameter may be percent-encoded', async () => {
  expect((await app.send('/v1/models?%6cimit=%31')).body.limit).toBe(1)
})
