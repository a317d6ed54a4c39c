// GET /v1/models: the models that are ready, in catalog order (P1, P70, P71, P77).
import { copyFileSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp, testCatalog, withBuiltin } from '../test-app.ts'
import { createTestClock } from './test-clock.ts'

const app = await startTestApp({ MEDIAGEN_ROLES: 'api' }, withBuiltin)
afterAll(() => app[Symbol.asyncDispose]())

const entries = testCatalog
  .split(':')
  .flatMap((path) => (load(readFileSync(path, 'utf8')) as { models: { id: string }[] }).models)
const inFiles = entries.map(({ id }) => id)
const readyInFiles = inFiles.filter((id) => !['test/unready/video-to-video', 'test/ended/text-to-image'].includes(id))

async function list(query = '') {
  const { status, body } = await app.send(`/v1/models${query}`)
  expect(status).toBe(200)
  return { body, ids: body.data.map((model: { id: string }) => model.id) as string[] }
}

test('an entry is exactly what the contract says, fit for an OpenAI SDK', async () => {
  const { body } = await list('?search=test/instant/text')
  expect(body).toStrictEqual({
    object: 'list',
    data: [
      {
        id: 'test/instant/text-to-image',
        object: 'model',
        created: Date.parse('2026-11-01T00:00:00Z') / 1000,
        owned_by: 'tests',
        name: 'Instant',
        description: 'Makes a picture at once.',
        category: 'text-to-image',
        product: 'test/instant',
        mode: 'text-to-image',
        modality: 'image',
        pricing: { billing: 'fixed', summary: expect.any(String), from_credits: 2 },
        samples: [],
        version: null,
        released: null,
        shutdown_date: null,
        replaced_by: null,
      },
    ],
    total: 1,
    limit: 100,
    offset: 0,
    has_more: false,
  })
})

test('a model billed by usage says so', async () => {
  const { body } = await list('?search=test/usage')
  expect(body.data[0].pricing).toMatchObject({ billing: 'usage', from_credits: 2 })
})

test('mode is the category and product the model itself where the catalog names none', async () => {
  const { body } = await list('?search=test/gate')
  expect(body.data[0]).toMatchObject({ mode: 'text-to-image', product: 'test/gate/text-to-image' })
})

test('models are in catalog order: those that ship, then those of MEDIAGEN_CATALOG, each in the order of its file', async () => {
  const { ids } = await list()
  expect(ids.filter((id) => id.startsWith('test/'))).toEqual(readyInFiles)
  expect(ids.findIndex((id) => id.startsWith('test/'))).toBe(ids.filter((id) => id.startsWith('builtin/')).length)
})

test('only models that are ready are listed', async () => {
  expect((await list()).ids).not.toContain('test/unready/video-to-video')
  expect((await list('?search=unready')).body).toMatchObject({ data: [], total: 0 })
})

test('a model that becomes ready is listed a few seconds later', async () => {
  const clock = createTestClock()
  const catalog = join(app.folder, 'late.yaml')
  const program = join(app.folder, 'late-program')
  const late = { ...entries[0], id: 'late/model', product: 'late', engine: { kind: 'command', run: [program] } }
  await import('node:fs').then(({ writeFileSync }) => writeFileSync(catalog, JSON.stringify({ models: [late] })))
  await using fresh = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_CATALOG: catalog }, { clock })
  const { total: others } = (await fresh.send('/v1/models')).body
  const totals = async () => [
    (await fresh.send('/v1/models?search=late/model')).body.total,
    // A page without a search is kept until other models are ready.
    (await fresh.send('/v1/models')).body.total - others,
  ]
  expect(await totals()).toEqual([0, 0])
  copyFileSync('/bin/true', program)
  clock.ms += 10_000
  // The first to ask causes the engines to be asked.
  await expect.poll(totals).toEqual([1, 1])
  rmSync(program)
  clock.ms += 10_000
  await expect.poll(totals).toEqual([0, 0])
})

describe('search', () => {
  test.each([
    ['the model id', 'instant/text-to-image', ['test/instant/text-to-image']],
    ['a part of the id', 'test/instant', ['test/instant/text-to-image', 'test/instant/edit']],
    ['the name', 'Instant edit', ['test/instant/edit']],
    ['the description', 'another picture at once', ['test/instant/edit']],
    ['whatever its case', 'ANOTHER PICTURE', ['test/instant/edit']],
    ['each word, however often', 'at once at at AT another', ['test/instant/edit']],
    ['nothing', 'no such words anywhere', []],
    ['no pattern: %', '%', []],
    ['no pattern: .*', '.*', []],
  ])('matches %s', async (_what, search, ids) => {
    const found = await list(`?search=${encodeURIComponent(search)}`)
    expect(found.ids.filter((id) => id.startsWith('test/'))).toEqual(ids)
    expect(found.body.total).toBe(found.ids.length)
  })

  test('P207: more than 200 characters are refused; a pair of surrogates is one', async () => {
    const fox = '\u{1F98A}'
    for (const path of ['/v1/models?', '/v1/models?grouped=true&']) {
      const search = (text: string) => app.send(`${path}search=${encodeURIComponent(text)}`)
      expect((await search(fox.repeat(200))).body).toMatchObject({ total: 0 })
      expect((await search(fox.repeat(201))).body).toMatchObject({
        code: 'invalid_request',
        errors: [{ pointer: '?search', detail: 'must have at most 200 characters' }],
      })
    }
  })

  test('an empty search is no search', async () => {
    expect((await list('?search=')).body).toEqual((await list()).body)
  })
})

describe('category', () => {
  test('filters by task', async () => {
    const { body, ids } = await list('?category=image-to-image')
    expect(ids).toContain('test/instant/edit')
    expect(new Set(body.data.map((model: { category: string }) => model.category))).toEqual(new Set(['image-to-image']))
  })

  test('and search apply together', async () => {
    expect((await list('?category=text-to-image&search=test/instant')).ids).toEqual(['test/instant/text-to-image'])
    expect((await list('?category=image-to-image&search=test/gate')).ids).toEqual([])
  })

  test('every category of GET /v1/models/categories filters to its count', async () => {
    const { body } = await app.send('/v1/models/categories')
    for (const { id, count } of body.data) expect((await list(`?category=${id}`)).body.total).toBe(count)
  })
})

test('pages put together are the whole list, and only the last has no more', async () => {
  const whole = await list()
  const ids: string[] = []
  let more = true
  while (more) {
    const page = await list(`?limit=3&offset=${ids.length}`)
    ids.push(...page.ids)
    more = page.body.has_more
    expect(more).toBe(ids.length < whole.ids.length)
    expect(page.body.total).toBe(whole.body.total)
  }
  expect(ids).toEqual(whole.ids)
})

test('listing needs models:read and no other', async () => {
  const { accountId } = app.account
  expect((await app.send('/v1/models', { key: await app.createKey(accountId, ['models:read']) })).status).toBe(200)
  const key = await app.createKey(accountId, ['generate', 'jobs:read', 'wallet:read', 'admin'])
  const { status, body } = await app.send('/v1/models', { key })
  expect([status, body.permission]).toEqual([403, 'models:read'])
})
