// A model billed by usage, end to end: the quote is held, the seconds that came out are charged, the rest is released (P64, P65).
import { afterAll, expect, test } from 'vitest'
import { startTestApp, withBuiltin } from '../test-app.ts'

const app = await startTestApp({}, withBuiltin)
afterAll(() => app[Symbol.asyncDispose]())

const model = 'builtin/audio/speech/text-to-speech'

test('speech is charged by its seconds, never more than quoted; the rest goes back', async () => {
  const account = await app.createAccount(10)
  const text = 'The harbour woke slowly. '.repeat(9)
  const input = { text, speed: 2, format: 'wav' }
  const { credits } = await app.quote(model, input)
  expect(credits).toBe(Math.ceil(text.length / 200))

  const { status, body: job } = await app.generate(model, input, { account })
  expect(status).toBe(200)
  expect(job.status).toBe('succeeded')
  const [output] = job.outputs
  const file = Buffer.from(await (await fetch(output.url)).arrayBuffer())
  expect(file.subarray(0, 4).toString()).toBe('RIFF')
  const seconds = (file.length - 44) / 2 / 48_000
  const charged = Math.ceil(seconds / 15)
  expect(charged).toBeLessThan(credits)

  const { body: wallet } = await app.send('/v1/wallet', account)
  expect(wallet).toMatchObject({ available: 10 - charged, held: 0 })
})

test('music is charged as quoted, by its length', async () => {
  const account = await app.createAccount(10)
  const id = 'builtin/audio/music/text-to-audio'
  const { status, body: job } = await app.generate(id, { prompt: 'a short waltz', duration: 16 }, { account })
  expect(status).toBe(200)
  expect(job.outputs[0].content_type).toBe('audio/mpeg')
  const { body: wallet } = await app.send('/v1/wallet', account)
  expect(wallet).toMatchObject({ available: 8, held: 0 })
})
