// GET /v1/models?grouped=true: one entry per product, with its modes (P75).
import { afterAll, expect, test } from 'vitest'
import { startTestApp, withBuiltin } from '../test-app.ts'

const app = await startTestApp({ MEDIAGEN_ROLES: 'api' }, withBuiltin)
afterAll(() => app[Symbol.asyncDispose]())

async function list(query = '') {
  const { status, body } = await app.send(`/v1/models?grouped=true${query}`)
  expect(status).toBe(200)
  return { body, ids: body.data.map((product: { id: string }) => product.id) as string[] }
}

test('an entry is exactly a product with its modes', async () => {
  const { body } = await list('&search=test/instant')
  expect(body).toStrictEqual({
    object: 'list',
    data: [
      {
        object: 'product',
        id: 'test/instant',
        name: 'Instant',
        description: 'Makes a picture at once.',
        modality: 'image',
        modes: [
          { mode: 'text-to-image', model: 'test/instant/text-to-image', category: 'text-to-image', name: 'Instant' },
          { mode: 'edit', model: 'test/instant/edit', category: 'image-to-image', name: 'Instant edit' },
        ],
      },
    ],
    total: 1,
    limit: 100,
    offset: 0,
    has_more: false,
  })
})

test('grouped is false by default', async () => {
  const [bare, spelled] = await Promise.all([app.send('/v1/models'), app.send('/v1/models?grouped=false')])
  expect(spelled.body).toEqual(bare.body)
  expect(bare.body.data[0].object).toBe('model')
})

test('every ready model is a mode of exactly one product', async () => {
  const { body } = await list()
  const modes = body.data.flatMap((product: { modes: { model: string }[] }) => product.modes.map(({ model }) => model))
  const models = (await app.send('/v1/models')).body.data.map((model: { id: string }) => model.id)
  expect(modes.toSorted()).toEqual(models.toSorted())
})

test('products are in the order of their first model', async () => {
  const { ids } = await list()
  const products = (await app.send('/v1/models')).body.data.map((model: { product: string }) => model.product)
  expect(ids).toEqual([...new Set(products)])
})

test('pages and totals count products', async () => {
  const whole = await list()
  expect(whole.body.total).toBe(whole.ids.length)
  const models = (await app.send('/v1/models')).body.total
  expect(whole.body.total).toBeLessThan(models)
  const first = await list('&limit=2')
  const second = await list('&limit=2&offset=2')
  expect([...first.ids, ...second.ids]).toEqual(whole.ids.slice(0, 4))
  expect(first.body).toMatchObject({ total: whole.body.total, limit: 2, has_more: true })
})

test('filters apply to models first: a product shows only the modes that match', async () => {
  const { body } = await list('&category=image-to-image&search=test/instant')
  expect(body.data).toHaveLength(1)
  expect(body.data[0].modes.map((mode: { mode: string }) => mode.mode)).toEqual(['edit'])
})

test('a product keeps its name and description when a filter leaves out its first mode', async () => {
  const [product] = (await list('&search=test/instant')).body.data
  const [filtered] = (await list('&category=image-to-image&search=test/instant')).body.data
  expect(filtered).toMatchObject({ name: product.name, description: product.description })
  expect(filtered.modes[0].name).not.toBe(product.name)
})

test('a product that ships has both its modes', async () => {
  const { body } = await list('&search=builtin/image/art')
  const art = body.data.find((product: { id: string }) => product.id === 'builtin/image/art')
  expect(art.modes.map((mode: { mode: string }) => mode.mode)).toEqual(['text-to-image', 'edit'])
})
