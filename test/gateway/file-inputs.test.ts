// Uploads as inputs: by id or by URL wherever a schema says `format: media`, for the account that handed them in.
// P36, P45, P105, P107.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { copyModel as model, startMediaApp } from '../files/media/media-app.ts'
import type { TestAccount } from '../test-app.ts'

const media = await startMediaApp()
afterAll(() => media[Symbol.asyncDispose]())
const { app } = media

const picture = readFileSync(join(import.meta.dirname, '../models/picture.png'))

async function upload(account: TestAccount = app.account) {
  const response = await fetch(`${app.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.key}`, 'content-type': 'image/png' },
    body: new Uint8Array(picture),
  })
  const record: any = await response.json()
  expect(response.status).toBe(201)
  return record
}

test.each(['file_id', 'url'])('an upload is an input by its %s', async (name) => {
  const record = await upload()
  const { body } = await app.generate(model, { image: record[name] })
  expect(body).toMatchObject({ status: 'succeeded', outputs: [{ sha256: record.sha256 }] })
})

test.each(['file_id', 'url'])('another account’s is refused by its %s, in words that name the field', async (name) => {
  const record = await upload(await app.createAccount(0))
  const { body } = await app.generate(model, { image: record[name] })
  expect(body).toMatchObject({ status: 'failed', error: { code: 'invalid_media', retryable: false }, credits: 0 })
  expect(body.error.message).toMatch(/^image names an upload that the account does not have/)
})

test('an upload that was deleted while the job waited fails it in words, and the credits are back', async () => {
  const { file_id } = await upload()
  const before = (await app.send('/v1/wallet')).body
  await app.send(`/v1/files/${file_id}`, { method: 'DELETE' })
  const { body } = await app.generate(model, { image: file_id })
  expect(body).toMatchObject({ status: 'failed', error: { code: 'invalid_media' } })
  expect(body.error.message).toMatch(/deleted or have expired/)
  expect((await app.send('/v1/wallet')).body).toEqual(before)
})

test('a text that is not an upload id is refused before anything is held', async () => {
  const { status, body } = await app.send('/v1/quotes', { body: { model, input: { image: 'file_x' } } })
  expect([status, body.code]).toEqual([400, 'invalid_input'])
  expect(body.errors).toMatchObject([{ pointer: '/input/image' }])
})
