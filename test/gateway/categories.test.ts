// GET /v1/models/categories: the task categories of the ready models (P76, P83, P87).
import { afterAll, expect, test } from 'vitest'
import { startTestApp, withBuiltin } from '../test-app.ts'

const app = await startTestApp({ MEDIAGEN_ROLES: 'api' }, withBuiltin)
afterAll(() => app[Symbol.asyncDispose]())

test('an entry is exactly id, name, modality and count', async () => {
  const { status, body } = await app.send('/v1/models/categories')
  expect(status).toBe(200)
  expect(body.data).toContainEqual({
    id: 'text-to-image',
    name: 'Text to image',
    modality: 'image',
    count: expect.any(Number),
  })
  for (const entry of body.data) expect(Object.keys(entry)).toEqual(['id', 'name', 'modality', 'count'])
})

test('it is a list of everything at once', async () => {
  const { body } = await app.send('/v1/models/categories')
  expect(Object.keys(body).toSorted()).toEqual(['data', 'has_more', 'limit', 'object', 'offset', 'total'])
  expect(body).toMatchObject({ object: 'list', total: body.data.length, offset: 0, has_more: false })
})

test('categories are those of the ready models, each once, in catalog order, and counted', async () => {
  const models: { category: string }[] = (await app.send('/v1/models?limit=500')).body.data
  const expected = [...Map.groupBy(models, ({ category }) => category)].map(([id, group]) => [id, group.length])
  const { body } = await app.send('/v1/models/categories')
  expect(body.data.map(({ id, count }: { id: string; count: number }) => [id, count])).toEqual(expected)
})

test('a category whose only models are not ready is not listed', async () => {
  const { body } = await app.send('/v1/models/categories')
  expect(body.data.map(({ id }: { id: string }) => id)).not.toContain('video-to-video')
})

test.each(['generate', 'models:read', 'jobs:read', 'wallet:read', 'admin'] as const)(
  'any valid key will do: one that may only %s',
  async (permission) => {
    const key = await app.createKey(app.account.accountId, [permission])
    expect((await app.send('/v1/models/categories', { key })).status).toBe(200)
  },
)

test('a valid key is needed', async () => {
  expect((await app.send('/v1/models/categories', { key: null })).body.code).toBe('authentication_required')
  expect((await app.send('/v1/models/categories', { key: 'mgk_x' })).body.code).toBe('invalid_api_key')
})

test('it is no model id', async () => {
  const { status, body } = await app.send('/v1/quotes', { body: { model: 'categories', input: {} } })
  expect([status, body.code]).toEqual([404, 'model_not_found'])
})
