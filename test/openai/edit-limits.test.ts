// What a form of pictures may not do to the server (P119, P266), and what no request may send twice (P309).
import { connect } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { checkDoorModels } from '../../src/app/doors/door-models.ts'
import { openRaw, sendRaw } from '../gateway/raw-http.ts'
import { formType, type Part, paint, startEditApp, writeForm } from './edit-app.ts'

const app = await startEditApp({
  MEDIAGEN_MAX_UPLOAD_BYTES: '20000',
  MEDIAGEN_MAX_INPUT_BYTES: '200000',
  MEDIAGEN_MAX_BODY_BYTES: '4096',
  MEDIAGEN_MAX_VALUES: '100',
  MEDIAGEN_STALL_SECONDS: '1',
})
afterAll(() => app[Symbol.asyncDispose]())

const path = '/v1/images/edits'
const red = await paint('red')
const image: Part = ['image', red, 'a.png']
const most = 204_096

/** A form whose size is not announced, in chunks. */
async function sendChunks(pieces: Iterable<Buffer>, key: string) {
  const connection = await openRaw(app.url)
  connection.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\nmediagen-max-credits: 9\r\ncontent-type: ${formType}\r\ntransfer-encoding: chunked\r\n\r\n`,
  )
  for (const piece of pieces)
    connection.write(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]))
  return connection
}

async function sendForm(
  parts: readonly Part[],
  headers: Record<string, string> = {},
  url = app.url,
  key = app.account.key,
) {
  return sendRaw(url, {
    method: 'POST',
    path,
    headers: { authorization: `Bearer ${key}`, 'content-type': formType, 'mediagen-max-credits': '9', ...headers },
    body: writeForm(parts),
  })
}

async function countRecords(key: string) {
  const totals = ['/v1/files', '/v1/jobs'].map(async (list) => (await app.send(list, { key })).body.total)
  return Promise.all(totals)
}

describe('a form beyond a limit is refused with its name', () => {
  test('a picture of more than MEDIAGEN_MAX_UPLOAD_BYTES', async () => {
    const large = Buffer.concat([red, Buffer.alloc(20_000)])
    expect(await sendForm([['image', large, 'a.png']])).toMatchObject({
      status: 413,
      body: { code: 'payload_too_large', errors: [{ pointer: '/image', detail: expect.stringContaining('20000') }] },
    })
  })

  test('more than MEDIAGEN_MAX_INPUT_BYTES and MEDIAGEN_MAX_BODY_BYTES together, announced, before any of it is sent', async () => {
    using connection = await openRaw(app.url)
    connection.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${app.account.key}\r\ncontent-type: ${formType}\r\ncontent-length: ${most + 1}\r\n\r\n`,
    )
    expect(await connection.next()).toMatchObject({ status: 413, body: { code: 'payload_too_large' } })
  })

  test('as much, not announced', async () => {
    const account = await app.createAccount(100)
    const pieces = Array.from({ length: 30 }, () => Buffer.alloc(8192))
    using connection = await sendChunks(
      [Buffer.from(`--b0undary\r\nContent-Disposition: form-data; name="image"; filename="a"\r\n\r\n`), ...pieces],
      account.key,
    )
    expect(await connection.next()).toMatchObject({ status: 413 })
    expect(await countRecords(account.key)).toEqual([0, 0])
  })

  test('a header of a part that never ends', async () => {
    const line = Buffer.from(`${'x'.repeat(8190)}\r\n`)
    const pieces = [
      Buffer.from('--b0undary\r\nContent-Disposition: form-data; name="a'),
      ...Array.from({ length: 30 }, () => line),
    ]
    using connection = await sendChunks(pieces, app.account.key)
    expect(await connection.next()).toMatchObject({ status: 413, body: { code: 'payload_too_large' } })
  })

  test('texts of more than MEDIAGEN_MAX_BODY_BYTES, in one part or in many', async () => {
    const long = 'x'.repeat(2100)
    const forms: Part[][] = [
      [['prompt', long.repeat(2)]],
      [
        ['prompt', long],
        ['negative_prompt', long],
      ],
      [['image', `data:image/png;base64,${long}${long}`]],
    ]
    for (const parts of forms)
      expect(await sendForm(parts)).toMatchObject({ status: 413, body: { code: 'payload_too_large' } })
  })

  test('MEDIAGEN_MAX_VALUES: 100,000 tiny parts, and as many values in one', async () => {
    const tiny = Array.from({ length: 100_000 }, (_, index) => [`p${index}`, ''] as const)
    const answer = sendRaw(app.url, {
      method: 'POST',
      path,
      headers: { authorization: `Bearer ${app.account.key}`, 'content-type': formType, 'content-length': '100000' },
      body: writeForm(tiny).subarray(0, 100_000),
    })
    expect(await answer).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('MEDIAGEN_MAX_VALUES') },
    })
    const values = await sendForm([image, ['tags', `[${'1,'.repeat(200)}1]`]])
    expect(values).toMatchObject({ status: 400, body: { detail: expect.stringContaining('MEDIAGEN_MAX_VALUES') } })
    const half: Part = ['tags', `[${'1,'.repeat(60)}1]`]
    const halves = await sendForm([image, half, ['strength', half[1]]])
    expect(halves).toMatchObject({ status: 400, body: { detail: expect.stringContaining('MEDIAGEN_MAX_VALUES') } })
  })

  test('texts count toward MEDIAGEN_BYTE_RATE, pictures do not', async () => {
    await using other = await startEditApp({ MEDIAGEN_BYTE_RATE: '1000', MEDIAGEN_MAX_BODY_BYTES: '2048' })
    const send = (parts: Part[]) => sendForm(parts, {}, other.url, other.account.key)
    expect(await send([['image', Buffer.concat([red, Buffer.alloc(50_000)]), 'a.png']])).toMatchObject({ status: 200 })
    const answers = await Promise.all([1, 2, 3, 4].map(() => send([image, ['prompt', 'x'.repeat(1700)]])))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 429, 429])
  })
})

test('a form has at most 1000 texts', async () => {
  await using other = await startEditApp({})
  const texts = Array.from({ length: 1001 }, (_, index) => [`p${index}`, ''] as const)
  const answer = await sendForm([image, ...texts], {}, other.url, other.account.key)
  expect(answer).toMatchObject({ status: 400, body: { detail: 'The form has more than 1000 texts.' } })
})

test('what is no picture counts toward MEDIAGEN_BYTE_RATE as it arrives, in a form that is refused as well', async () => {
  await using other = await startEditApp({ MEDIAGEN_BYTE_RATE: '1000', MEDIAGEN_MAX_BODY_BYTES: '2048' })
  const statuses: unknown[] = []
  for (const body of [Buffer.alloc(3000, 'x'), Buffer.alloc(3000, 'x')]) {
    const headers = {
      authorization: `Bearer ${other.account.key}`,
      'content-type': formType,
      'content-length': String(body.length),
    }
    statuses.push((await sendRaw(other.url, { method: 'POST', path, headers, body })).status)
  }
  expect(statuses).toEqual([400, 429])
})

test('the rest of a refused form is dropped, and the connection goes on', async () => {
  const body = writeForm([['picture', Buffer.alloc(150_000), 'a.png'], image])
  using connection = await openRaw(app.url)
  connection.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${app.account.key}\r\ncontent-type: ${formType}\r\ncontent-length: ${body.length}\r\n\r\n`,
  )
  connection.write(body)
  expect(await connection.next()).toMatchObject({ status: 400, body: { error: { param: 'picture' } } })
  connection.write(`GET /v1/wallet HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${app.account.key}\r\n\r\n`)
  expect(await connection.next()).toMatchObject({ status: 200 })
})

test('nothing of a stranger is read', async () => {
  for (const [name, status] of [
    ['mgk_wrong', 401],
    [await app.createKey(app.account.accountId, ['jobs:read']), 403],
  ] as const) {
    using connection = await openRaw(app.url)
    connection.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${name}\r\ncontent-type: ${formType}\r\ncontent-length: 9999\r\n\r\n`,
    )
    expect((await connection.next()).status).toBe(status)
  }
})

test('a form that stops is cut off, and leaves no part of a picture', async () => {
  const account = await app.createAccount(100)
  const form = writeForm([image]).subarray(0, 120)
  using connection = await sendChunks([form], account.key)
  expect(await connection.next()).toMatchObject({ status: 408, body: { code: 'request_timeout' } })
  expect(await countRecords(account.key)).toEqual([0, 0])
})

test('a client that goes away in the middle of a form starts nothing', async () => {
  const account = await app.createAccount(100)
  const { hostname, port } = new URL(app.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  const body = writeForm([image, ['prompt', 'x']])
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\nmediagen-max-credits: 9\r\ncontent-type: ${formType}\r\ncontent-length: ${body.length}\r\n\r\n`,
  )
  // All but the end: the picture is whole.
  socket.write(body.subarray(0, -20))
  await expect.poll(() => countRecords(account.key)).toEqual([1, 0])
  socket.destroy()
  // The same again is whole, and has the upload.
  const answer = await sendForm([image, ['prompt', 'x']], {}, app.url, account.key)
  expect(answer.status).toBe(200)
  expect(await countRecords(account.key)).toEqual([1, 1])
})

describe('a server does not start with a setting that names', () => {
  const config = { openaiImageModel: null, openaiEditModel: null, openaiSpeechModel: null }
  const model = (modality: string, properties: object) => ({ modality, inputSchema: { properties } })
  const models: Record<string, object> = {
    film: model('video', {}),
    text: model('image', { prompt: {} }),
    edit: model('image', { image: { type: 'string', format: 'media' } }),
  }
  const catalog = { resolve: (name: string) => models[name] as never }
  test.each([
    [{ openaiImageModel: 'nothing' }, /MEDIAGEN_OPENAI_IMAGE_MODEL is "nothing", but no model/],
    [{ openaiImageModel: 'film' }, /MEDIAGEN_OPENAI_IMAGE_MODEL is "film", which does not make pictures/],
    [{ openaiSpeechModel: 'edit' }, /MEDIAGEN_OPENAI_SPEECH_MODEL is "edit", which does not make sounds/],
    [{ openaiEditModel: 'nothing' }, /MEDIAGEN_OPENAI_EDIT_MODEL is "nothing", but no model/],
    [{ openaiEditModel: 'text' }, /MEDIAGEN_OPENAI_EDIT_MODEL is "text", which takes no picture/],
  ])('%o', (setting, words) => {
    expect(() => checkDoorModels({ ...config, ...setting }, catalog)).toThrow(words)
  })

  test('no such thing starts', async () => {
    checkDoorModels({ ...config, openaiImageModel: 'text', openaiEditModel: 'edit' }, catalog)
    await expect(startEditApp({ MEDIAGEN_OPENAI_IMAGE_MODEL: 'dall-e-9' })).rejects.toThrow(
      /MEDIAGEN_OPENAI_IMAGE_MODEL/,
    )
    await expect(startEditApp({ MEDIAGEN_OPENAI_EDIT_MODEL: 'dall-e-3' })).rejects.toThrow(/takes no picture/)
  })
})

test.each([
  ['image', 'image_url', 'test/edit/address', {}],
  ['mask', 'mask_url', 'test/edit/one', { image: true }],
])(
  'P309: %s and %s are one field: both are refused by name, and nothing is held',
  async (sent, named, model, others) => {
    const { key } = await app.createAccount(100)
    const picture = `data:image/png;base64,${red.toString('base64')}`
    const pictures = { ...('image' in others && { image: picture }), [sent]: picture, [named]: picture }
    const ask = (body: object) => app.send(path, { key, body: { model, prompt: 'x', max_credits: 9, ...body } })
    const { status, body } = await ask(pictures)
    expect([status, body.code]).toEqual([400, 'invalid_request'])
    expect(body.detail).toContain(`both ${sent} and ${named}, which are the same field of ${model}`)
    expect(body.errors).toMatchObject([{ pointer: `/${named}` }])
    expect((await app.send('/v1/jobs', { key })).body.total).toBe(0)
    expect((await app.send('/v1/wallet', { key })).body).toEqual({ available: 100, held: 0 })
    expect((await ask({ ...pictures, [named]: undefined })).status).toBe(200)
  },
)
