// A start whose answers are lost: six seconds of attempts, then the command that resumes it without a second charge.
import { expect, test } from 'vitest'
import { openProxy } from '../client/spoiled-proxy.ts'
import { startTestApp } from '../test-app.ts'
import { openCommandLine } from './command-line.ts'

test('once the start was sent, the command that resumes it is said, and pays once', async () => {
  await using app = await startTestApp()
  const account = await app.createAccount(100)
  await using line = openCommandLine({ MEDIAGEN_URL: app.url, MEDIAGEN_KEY: account.key })
  let starts = 0
  await using proxy = await openProxy(app.url, (path, pass, response) => {
    if (path !== 'POST /v1/generate') return false
    starts += 1
    pass()
    response.write = () => !response.destroy()
    return true
  })
  const args = ['generate', 'test/instant/text-to-image', '-p', 'x']
  const { status, stderr } = await line.run(args, { MEDIAGEN_URL: proxy.url })
  const [, key = ''] = /^3 credits\nThe same command with --idempotency-key (\S+) resumes/.exec(stderr) ?? []
  expect([status, starts, key.length]).toEqual([1, 4, 36])
  expect(await line.run([...args, '--idempotency-key', key])).toMatchObject({ status: 0 })
  expect((await app.send('/v1/wallet', { key: account.key })).body).toEqual({ available: 97, held: 0 })
})
