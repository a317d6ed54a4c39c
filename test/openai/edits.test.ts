// Programs that speak OpenAI's interface change pictures here, and pay once (P262, P263, P264, P265, P266).
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateImage } from 'ai'
import OpenAI, { APIError, toFile } from 'openai'
import { pino } from 'pino'
import sharp from 'sharp'
import { afterAll, describe, expect, test } from 'vitest'
import { startApp } from '../../src/app/start.ts'
import { readConfig } from '../../src/config.ts'
import { sendRaw } from '../gateway/raw-http.ts'
import { startTestApp, withBuiltin } from '../test-app.ts'
import { cutFirst } from './cut-line.ts'
import { formType, type Part, paint, startEditApp, writeForm } from './edit-app.ts'

const app = await startEditApp()
afterAll(() => app[Symbol.asyncDispose]())

const path = '/v1/images/edits'
const red = await paint('red')
const blue = await paint('blue')
const grey = await paint('grey')

async function createClient({ fetched = fetch } = {}) {
  const account = await app.createAccount(1000)
  const headers = { 'Mediagen-Max-Credits': '100' }
  const sdk = new OpenAI({ apiKey: account.key, baseURL: `${app.url}/v1`, defaultHeaders: headers, fetch: fetched })
  const read = async (from: string) => (await app.send(from, { key: account.key })).body
  return {
    account,
    sdk,
    jobs: () => read('/v1/jobs'),
    wallet: () => read('/v1/wallet'),
    files: () => read('/v1/files'),
    sendForm: (parts: readonly Part[], more: Record<string, string> = {}) =>
      sendRaw(app.url, {
        method: 'POST',
        path,
        headers: {
          host: 'x',
          authorization: `Bearer ${account.key}`,
          'content-type': formType,
          'content-length': String(writeForm(parts).length),
          'mediagen-max-credits': '100',
          ...more,
        },
        body: writeForm(parts),
      }),
    sendJson: (body: object) => app.send(path, { key: account.key, headers: { 'mediagen-max-credits': '100' }, body }),
  }
}

const toBytes = ({ data }: { data?: { b64_json?: string }[] }): Buffer[] =>
  (data ?? []).map(({ b64_json = '' }) => Buffer.from(b64_json, 'base64'))

const png = (bytes: Buffer) => toFile(bytes, 'picture.png', { type: 'image/png' })
const toDataUrl = (bytes: Buffer) => `data:image/png;base64,${bytes.toString('base64')}`

describe('the pictures of real clients reach the model', () => {
  test("of OpenAI's library: one", async () => {
    const { sdk, jobs, wallet } = await createClient()
    const { data: made, response } = await sdk.images
      .edit({ image: await png(red), prompt: 'more red', n: 1, size: 'auto' })
      .withResponse()
    expect(toBytes(made)).toEqual([red])
    expect(made).toMatchObject({ size: '16x16', output_format: 'png', usage: { total_tokens: 0 } })
    const [job] = (await jobs()).data
    const image = expect.stringMatching(/^file_/)
    expect(job).toMatchObject({ model: 'test/edit/one', input: { prompt: 'more red', image }, billing: { charged: 3 } })
    expect([response.headers.get('mediagen-job'), response.headers.get('mediagen-credits-charged')]).toEqual([
      job.job_id,
      '3',
    ])
    expect(response.headers.get('mediagen-receipt')).toContain(`charged=3, released=0, quote_id="${job.quote_id}"`)
    expect(await wallet()).toMatchObject({ available: 997, held: 0 })
  })

  test('of the same: several, in order', async () => {
    const { sdk } = await createClient()
    const image = await Promise.all([red, blue, grey, red].map(png))
    expect(toBytes(await sdk.images.edit({ model: 'test/edit/several', image, prompt: 'x' }))).toEqual([
      red,
      blue,
      grey,
      red,
    ])
    expect(toBytes(await sdk.images.edit({ model: 'test/edit/several', image: await png(blue), prompt: 'x' }))).toEqual(
      [blue],
    )
  })

  test('of the same: with a mask, by an alias; and as addresses', async () => {
    const { sdk } = await createClient()
    const order = { model: 'gpt-image-2', image: await png(red), mask: await png(grey), prompt: 'x' }
    expect(toBytes(await sdk.images.edit(order))).toEqual([red, grey])
    const { data } = await sdk.images.edit({ ...order, response_format: 'url' })
    expect(Buffer.from(await (await fetch(data?.[0]?.url ?? '')).arrayBuffer())).toEqual(red)
  })

  test('of the same: two of one', async () => {
    const { sdk, wallet } = await createClient()
    expect(toBytes(await sdk.images.edit({ image: await png(red), prompt: 'x', n: 2 }))).toEqual([red, red])
    expect(await wallet()).toMatchObject({ available: 994 })
  })

  test('of the same: as a stream (P267)', async () => {
    const { sdk } = await createClient()
    const stream = await sdk.images.edit({ image: await png(red), prompt: 'x', stream: true })
    const events = await Array.fromAsync(stream)
    expect(events).toMatchObject([{ type: 'image_edit.completed', size: '16x16', credits_charged: 3 }])
    expect(toBytes({ data: events })).toEqual([red])
  })

  test('of the AI SDK', async () => {
    const { account } = await createClient()
    const headers = { 'Mediagen-Max-Credits': '100' }
    const provider = createOpenAICompatible({ name: 'here', apiKey: account.key, baseURL: `${app.url}/v1`, headers })
    const { images } = await generateImage({
      model: provider.imageModel('test/edit/one'),
      prompt: { text: 'x', images: [red], mask: grey },
    })
    expect(images.map(({ uint8Array }) => Buffer.from(uint8Array))).toEqual([red, grey])
    const several = await generateImage({
      model: provider.imageModel('test/edit/several'),
      prompt: { text: 'x', images: [red, blue] },
    })
    expect(several.images.map(({ uint8Array }) => Buffer.from(uint8Array))).toEqual([red, blue])
  })

  // images.py of Open WebUI at 02530d5: texts with a content type, numbers as texts; one picture is `image`, several are `image[]`.
  test('of Open WebUI', async () => {
    const { sendForm, account } = await createClient()
    const texts: Part[] = [
      ['prompt', 'x'],
      ['n', '1'],
      ['response_format', 'b64_json'],
    ]
    const one = await sendForm([['model', 'gpt-image-2'], ...texts, ['image', red, 'image.png']])
    expect([one.status, toBytes(one.body)]).toEqual([200, [red]])
    const pictures: Part[] = [
      ['image[]', red, 'image.png'],
      ['image[]', blue, 'image.png'],
    ]
    const several = await sendForm([['model', 'test/edit/several'], ...texts, ...pictures])
    expect([several.status, toBytes(several.body)]).toEqual([200, [red, blue]])
    const ceiling = await app.createKey(account.accountId, ['generate'])
    const sent = await sendForm([['max_credits', '2'], ...texts, ['image', red, 'a.png']], {
      authorization: `Bearer ${ceiling}`,
      'mediagen-max-credits': '3',
    })
    expect(sent.status).toBe(200)
  })

  // image_edit/transformation.py of LiteLLM at 078686d: pictures are `image[]`, whatever their number; masks may be texts.
  test('of LiteLLM', async () => {
    const { sendForm } = await createClient()
    const { status, body } = await sendForm([
      ['model', 'test/edit/one'],
      ['prompt', 'x'],
      ['mask', toDataUrl(grey)],
      ['image[]', red, 'image.png'],
    ])
    expect([status, toBytes(body)]).toEqual([200, [red, grey]])
    const texts = await sendForm([
      ['model', 'test/edit/several'],
      ['prompt', 'x'],
      ['image[]', toDataUrl(blue)],
      ['image[]', toDataUrl(red)],
    ])
    expect([texts.status, toBytes(texts.body)]).toEqual([200, [blue, red]])
  })

  test('as JSON: by address, by upload, as data', async () => {
    const { sendJson, sendForm, files } = await createClient()
    await sendForm([
      ['prompt', 'x'],
      ['image', blue, 'a.png'],
    ])
    const [{ file_id, url }] = (await files()).data
    const several = (fields: object) => sendJson({ model: 'test/edit/several', prompt: 'x', ...fields })
    const data = toDataUrl(red)
    const requests = [
      { images: [{ image_url: data }, { file_id }, { image_url: { url: data } }, url] },
      { image: [data, { file_id }, data, file_id] },
    ]
    for (const fields of requests) expect(toBytes((await several(fields)).body)).toEqual([red, blue, red, blue])
    const masked = await sendJson({ image: data, mask: { file_id }, prompt: 'x', strength: 0.5 })
    expect(toBytes(masked.body)).toEqual([red, blue])
  })

  test.each(['image', 'image[]', 'image[0]', 'images', 'images[]', 'images[12]'])('as the part %s', async (name) => {
    const { sendForm } = await createClient()
    const { body } = await sendForm([
      [name, red, 'a.png'],
      [`mask${name.replace(/^\w+/, '')}`, grey, 'b.png'],
    ])
    expect(toBytes(body)).toEqual([red, grey])
  })

  test('with values as the schema of the model has them', async () => {
    const { sendForm, jobs } = await createClient()
    await sendForm([
      ['image', red, 'a.png'],
      ['prompt', '12'],
      ['strength', '0.5'],
      ['tags', '["a", "b"]'],
    ])
    expect((await jobs()).data[0].input).toMatchObject({ prompt: '12', strength: 0.5, tags: ['a', 'b'] })
  })
})

test('the built-in editor, which has no prompt', async () => {
  await using server = await startTestApp({ MEDIAGEN_OPENAI_EDIT_MODEL: 'builtin/image/art/edit' }, withBuiltin)
  const headers = { 'Mediagen-Max-Credits': '100' }
  const sdk = new OpenAI({ apiKey: server.account.key, baseURL: `${server.url}/v1`, defaultHeaders: headers })
  const order = { image: await png(red), prompt: '' }
  const grayscale = { operations: JSON.stringify([{ grayscale: true }]) }
  const [picture] = toBytes(await sdk.images.edit({ ...order, ...grayscale }))
  const { dominant } = await sharp(picture).stats()
  expect([dominant.r, dominant.g]).toEqual([dominant.g, dominant.b])
  await expect(sdk.images.edit({ ...order, prompt: 'less red' })).rejects.toMatchObject({
    status: 400,
    param: 'prompt',
  })
})

describe('a repetition is paid once', () => {
  test('of the library, after a cut line; its picture is stored once', async () => {
    const gate = app.gate()
    const line = cutFirst(gate)
    const { sdk, jobs, wallet, files } = await createClient({ fetched: line.fetched })
    await sdk.images.edit({ model: 'test/edit/gate', image: await png(red), prompt: 'x', ...gate.input })
    expect([line.asked, (await jobs()).total, (await files()).total]).toEqual([2, 1, 1])
    expect(await wallet()).toMatchObject({ available: 990, held: 0 })
  })

  const parts = (picture: Buffer): Part[] => [
    ['prompt', 'x'],
    ['image', picture, 'a.png'],
  ]

  test('by its Idempotency-Key: the same picture is the same job, another is refused', async () => {
    const { sendForm, jobs } = await createClient()
    const key = { 'idempotency-key': 'k' }
    const answers = await Promise.all([1, 2, 3].map(() => sendForm(parts(red), key)))
    expect(new Set(answers.map(({ headers }) => headers.get('mediagen-job'))).size).toBe(1)
    const other = await sendForm(parts(blue), key)
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })
    expect(other.headers.get('x-should-retry')).toBe('false')
    expect((await jobs()).total).toBe(1)
  })

  test('after its upload was deleted', async () => {
    const { sendForm, jobs, files, account } = await createClient()
    await sendForm(parts(red))
    const [{ file_id }] = (await files()).data
    await app.send(`/v1/files/${file_id}`, { method: 'DELETE', key: account.key })
    await sendForm(parts(red), { 'x-stainless-retry-count': '1' })
    expect([(await jobs()).total, (await files()).total]).toEqual([1, 1])
    expect((await files()).data[0].file_id).not.toBe(file_id)
  })

  test('at a gateway in front of this core, which passes pictures on', async () => {
    const { account, jobs, files, sendForm } = await createClient()
    const settings = {
      MEDIAGEN_CORE_URL: app.app.grpcUrl ?? '',
      MEDIAGEN_HTTP_PORT: '0',
      MEDIAGEN_OPENAI_EDIT_MODEL: 'gpt-image-2',
    }
    await using gateway = await startApp(readConfig(settings), { log: pino({ level: 'silent' }) })
    const ask = async (count: string) => {
      const answer = await fetch(gateway.httpUrl + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${account.key}`,
          'content-type': formType,
          'mediagen-max-credits': '100',
          'x-stainless-retry-count': count,
        },
        body: new Uint8Array(writeForm(parts(red))),
      })
      return { job: answer.headers.get('mediagen-job'), body: (await answer.json()) as object }
    }
    const first = await sendForm(parts(red))
    const [{ file_id }] = (await files()).data
    await app.send(`/v1/files/${file_id}`, { method: 'DELETE', key: account.key })
    const again = await ask('1')
    expect([again.job, toBytes(again.body)]).toEqual([first.headers.get('mediagen-job'), [red]])
    expect((await ask('0')).job).not.toBe(again.job)
    expect((await jobs()).total).toBe(2)
  })
})

describe('a refusal names what is wrong, is not repeated, and holds nothing', () => {
  const image: Part = ['image', red, 'a.png']
  const text = Buffer.from('no picture')
  const sound = Buffer.concat([
    Buffer.from(
      'RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x44\xac\0\0\x88\x58\x01\0\x02\0\x10\0data\0\0\0\0',
      'latin1',
    ),
  ])
  test.each<[string, Part[], object]>([
    ['no picture', [['prompt', 'x']], { status: 400, code: 'invalid_request', param: 'image' }],
    ['nothing', [], { status: 400, code: 'invalid_request' }],
    ['a mask alone', [['mask', red, 'a.png']], { status: 400, code: 'invalid_request', param: 'image' }],
    [
      '200 files',
      Array.from({ length: 200 }, () => ['image[]', red, 'a.png'] as const),
      { status: 400, param: 'image[]' },
    ],
    ['two masks', [image, ['mask', red, 'a.png'], ['mask', red, 'b.png']], { status: 400, param: 'mask' }],
    ['what is no picture', [['image', text, 'a.png']], { status: 400, code: 'invalid_media', param: 'image' }],
    ['a sound', [['image', sound, 'a.wav']], { status: 400, code: 'invalid_request', param: 'image' }],
    ['an empty file', [['image', '', 'a.png']], { status: 400, code: 'invalid_request', param: 'image' }],
    ['a part without a name', [image, [null, 'x']], { status: 400, code: 'invalid_request' }],
    ['a file without a name', [[null, red, 'a.png']], { status: 400, code: 'invalid_request' }],
    ['an unknown part', [image, ['steps', '30']], { status: 400, code: 'invalid_request', param: 'steps' }],
    ['an unknown file', [image, ['picture', red, 'a.png']], { status: 400, code: 'invalid_request', param: 'picture' }],
    [
      'a part twice',
      [image, ['prompt', 'x'], ['prompt', 'y']],
      { status: 400, code: 'invalid_request', param: 'prompt' },
    ],
    [
      'a picture as text',
      [['image', red.toString('base64')]],
      { status: 400, code: 'invalid_request', param: 'image' },
    ],
    ['a private address', [['image', 'http://127.0.0.1:8080/a.png']], { status: 400, code: 'invalid_media' }],
    ['a damaged data: URL', [['image', 'data:image/png;base64,AAAA']], { status: 400, code: 'invalid_media' }],
    ['an unknown upload', [['image', 'file_01m81n4shze009c49bjf67542h']], { status: 404, code: 'file_not_found' }],
    ['11 pictures', [image, ['n', '11']], { status: 400, code: 'invalid_request', param: 'n' }],
    ['a number in words', [image, ['n', 'two']], { status: 400, code: 'invalid_request', param: 'n' }],
    ['a form of answers', [image, ['response_format', 'gif']], { status: 400, param: 'response_format' }],
    ['a size', [image, ['size', 'big']], { status: 400, code: 'invalid_request', param: 'size' }],
    ['a stream of two', [image, ['stream', 'true'], ['n', '2']], { status: 400, code: 'invalid_request', param: 'n' }],
    ['a wrong value', [image, ['strength', '7']], { status: 400, code: 'invalid_input', param: 'strength' }],
    [
      'a value of a wrong type',
      [image, ['strength', 'high']],
      { status: 400, code: 'invalid_input', param: 'strength' },
    ],
    ['a name twice in a value', [image, ['tags', '[{"a":1,"a":2}]']], { status: 400, code: 'invalid_request' }],
    [
      'a model that takes none',
      [image, ['model', 'test/openai/text-to-image'], ['prompt', 'x']],
      { status: 400, param: 'image' },
    ],
    [
      'a mask for none',
      [image, ['model', 'test/edit/several'], ['prompt', 'x'], ['mask', red, 'a']],
      { status: 400, param: 'mask' },
    ],
    ['two for one', [image, image], { status: 400, code: 'invalid_request', param: 'image' }],
    ['no model', [image, ['model', 'gpt-image-9']], { status: 404, code: 'model_not_found' }],
  ])('%s', async (_what, parts, { status, ...error }: { status?: number }) => {
    const { sendForm, jobs, wallet } = await createClient()
    const answer = await sendForm(parts)
    expect([answer.status, answer.body.error]).toEqual([status, expect.objectContaining(error)])
    expect(answer.headers.get('x-should-retry')).toBe('false')
    expect(await wallet()).toEqual({ available: 1000, held: 0 })
    // Addresses and data are read by the job.
    for (const { billing } of (await jobs()).data) expect(billing.charged).toBe(0)
  })

  test.each<[string, object, object]>([
    ['an unknown file_id', { images: [{ file_id: 'file_01m81n4shze009c49bjf67542h' }] }, { code: 'file_not_found' }],
    ["a file_id of OpenAI's", { images: [{ file_id: 'file-abc' }] }, { code: 'invalid_request', param: 'images.0' }],
    ['an object without either', { images: [{}] }, { code: 'invalid_request', param: 'images.0' }],
    ['no list', { images: 'x' }, { code: 'invalid_request', param: 'images' }],
    ['17 pictures', { image: Array.from({ length: 17 }, () => 'https://a.example/b.png') }, { param: 'image' }],
    ['a private address', { image: { image_url: 'http://10.0.0.1/a.png' } }, { code: 'invalid_media' }],
    ['a number', { image: 7 }, { code: 'invalid_request', param: 'image' }],
  ])('as JSON: %s', async (_what, body, error) => {
    const { sendJson, wallet } = await createClient()
    const answer = await sendJson(body)
    expect(answer.body.error).toMatchObject(error)
    expect(await wallet()).toEqual({ available: 1000, held: 0 })
  })

  test('no ceiling', async () => {
    const { account } = await createClient()
    const body = { image: toDataUrl(red) }
    expect(await app.send(path, { key: account.key, body })).toMatchObject({
      status: 402,
      body: { code: 'max_credits_required' },
    })
  })

  test('no boundary, another type of content, a form that breaks off', async () => {
    const { sendForm } = await createClient()
    expect(await sendForm([image], { 'content-type': 'multipart/form-data' })).toMatchObject({ status: 400 })
    for (const type of ['image/png', 'text/plain', 'application/x-www-form-urlencoded', ''])
      expect(await sendForm([image], { 'content-type': type })).toMatchObject({ status: 415 })
    const half = await sendForm([image], { 'content-type': 'multipart/form-data; boundary=other' })
    expect(half).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })

  test('as its library reads it', async () => {
    const { sdk } = await createClient()
    const error: unknown = await sdk.images
      .edit({ image: await png(text), prompt: 'x' })
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(APIError)
    expect(error).toMatchObject({ status: 400, code: 'invalid_media', type: 'invalid_request_error' })
  })

  test('as the end of a stream: it was an answer, and an equal request is a new one', async () => {
    const { sendJson, jobs } = await createClient()
    const body = { prompt: 'x', image: { image_url: 'http://10.0.0.1/a.png' }, stream: true }
    for (const _ of [1, 2]) expect((await sendJson(body)).body).toContain('"code":"invalid_media"')
    expect((await jobs()).total).toBe(2)
  })

  test('variations, which OpenAI has retired', async () => {
    const { sdk } = await createClient()
    const error: unknown = await sdk.images
      .createVariation({ image: await png(red) })
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      status: 404,
      code: 'route_not_found',
      message: expect.stringContaining('/v1/images/edits'),
    })
  })
})
