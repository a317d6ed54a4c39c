// An OpenAI SDK reads the catalog as it reads OpenAI's own and shows our words when it is refused (P70, P83, P248).
import OpenAI, { AuthenticationError } from 'openai'
import { afterAll, expect, test } from 'vitest'
import { startTestApp, withBuiltin } from '../test-app.ts'

const app = await startTestApp({ MEDIAGEN_ROLES: 'api' }, withBuiltin)
afterAll(() => app[Symbol.asyncDispose]())

const sdk = new OpenAI({ apiKey: app.account.key, baseURL: `${app.url}/v1`, maxRetries: 0 })

test('models.list() lists every model', async () => {
  const listed = await Array.fromAsync(sdk.models.list())
  const { body } = await app.send('/v1/models')
  expect(listed.map(({ id }) => id)).toEqual(body.data.map((model: { id: string }) => model.id))
  for (const model of listed) {
    expect(model).toMatchObject({ object: 'model', created: expect.any(Number), owned_by: expect.any(String) })
    expect(Number.isInteger(model.created)).toBe(true)
  }
})

test('models.list() pages with limit and offset', async () => {
  const page = await sdk.models.list({ query: { limit: 2, offset: 1 } })
  const { body } = await app.send('/v1/models')
  expect(page.data.map(({ id }) => id)).toEqual(body.data.slice(1, 3).map((model: { id: string }) => model.id))
  const whole = await Array.fromAsync(sdk.models.list({ query: { limit: 500, offset: body.total - 1 } }))
  expect(whole).toHaveLength(1)
})

test('models.retrieve() reads a model whose id has slashes, which the SDK encodes', async () => {
  expect(await sdk.models.retrieve('test/instant/text-to-image')).toMatchObject({ id: 'test/instant/text-to-image' })
})

test('errors arrive as errors of the SDK, with their status', async () => {
  await expect(sdk.models.retrieve('test/none')).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
    type: 'invalid_request_error',
    param: null,
    message: expect.stringMatching(/^404 There is no model "test\/none"/),
  })
  await expect(sdk.models.retrieve('gpt-image-1')).rejects.toMatchObject({
    code: 'model_not_found',
    message: expect.stringContaining('it is an alias of test/instant/text-to-image'),
  })
  await expect(sdk.models.list({ query: { limit: 0 } })).rejects.toMatchObject({
    code: 'invalid_request',
    param: 'limit',
    message: expect.stringMatching(/limit/),
  })
  const stranger = new OpenAI({ apiKey: 'mgk_wrong', baseURL: `${app.url}/v1`, maxRetries: 0 })
  const refusal: unknown = await stranger.models.list().catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(AuthenticationError)
  expect(refusal).toMatchObject({
    code: 'invalid_api_key',
    type: 'authentication_error',
    message: expect.stringMatching(/^401 The API key/),
  })
})
