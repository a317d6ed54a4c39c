// A start whose answers are lost: six seconds of attempts, then the command that resumes it without a second charge.
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { openProxy } from '../client/spoiled-proxy.ts'
import { startTestApp } from '../test-app.ts'
import { openCommandLine } from './command-line.ts'

const args = ['generate', 'test/instant/text-to-image', '-p', 'x']

/** A command line behind a proxy that spoils the answers to its starts; `spoil` gets the number of the start. */
async function openSpoiledLine(spoil: (nth: number, pass: () => void, response: ServerResponse) => void) {
  await using stack = new AsyncDisposableStack()
  const app = stack.use(await startTestApp())
  const { key } = await app.createAccount(100)
  const line = stack.use(openCommandLine({ MEDIAGEN_URL: app.url, MEDIAGEN_KEY: key }))
  let starts = 0
  const proxy = stack.use(
    await openProxy(app.url, (path, pass, response) => {
      if (path !== 'POST /v1/generate') return false
      spoil((starts += 1), pass, response)
      return true
    }),
  )
  const opened = stack.move()
  return {
    runSpoiled: () => line.run(args, { MEDIAGEN_URL: proxy.url }),
    resume: (idempotencyKey: string) => line.run([...args, '--idempotency-key', idempotencyKey]),
    readWallet: async () => (await app.send('/v1/wallet', { key })).body,
    starts: () => starts,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

function loseAnswer(pass: () => void, response: ServerResponse): void {
  pass()
  response.write = () => !response.destroy()
}

test('a start that a proxy refuses for now, after its answer was lost, can be resumed, too', async () => {
  await using line = await openSpoiledLine((nth, pass, response) => {
    if (nth > 1) response.writeHead(429).end('later')
    else loseAnswer(pass, response)
  })
  const { stderr } = await line.runSpoiled()
  const [, key = ''] = /--idempotency-key (\S+) resumes/.exec(stderr) ?? []
  expect(await line.resume(key)).toMatchObject({ status: 0 })
  expect(await line.readWallet()).toEqual({ available: 97, held: 0 })
})

test('once the start was sent, the command that resumes it is said, and pays once', async () => {
  await using line = await openSpoiledLine((_, pass, response) => loseAnswer(pass, response))
  const { status, stderr } = await line.runSpoiled()
  const [, key = ''] = /^3 credits\nThe same command with --idempotency-key (\S+) resumes/.exec(stderr) ?? []
  expect([status, line.starts(), key.length]).toEqual([1, 4, 36])
  expect(await line.resume(key)).toMatchObject({ status: 0 })
  expect(await line.readWallet()).toEqual({ available: 97, held: 0 })
})
