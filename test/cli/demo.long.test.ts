// `demo`, longer: its commands and calls as it prints them, its key, and a rate limit.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { openCommandLine } from './command-line.ts'

test('the commands that it prints can be pasted as they stand', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: '' })
  const child = await line.start(['demo', '--examples'])
  let said = ''
  for await (const text of child.stdout ?? []) if ((said += text).includes('Ctrl-C')) break
  const commands = said
    .slice(said.indexOf('Paste this'))
    .split('\n')
    .filter((text) => text.startsWith('    '))
  const path = `${join(import.meta.dirname, '../../node_modules/.bin')}:${process.env['PATH']}`
  const script = commands.join('\n').replace('npx @bufbuild/buf', 'buf')
  for (let time = 1; time <= 2; time += 1) {
    const options = { env: { PATH: path, HOME: line.folder }, cwd: line.folder, encoding: 'utf8' } as const
    const { stdout } = await promisify(execFile)('sh', ['-euc', script.replace('date +%s', `echo ${time}`)], options)
    expect(stdout).toMatch(/^files +aurora\.png$/m)
    expect(stdout).toContain('"object":"list"')
    expect(stdout).toMatch(/^\{"quote_id":"quote_/m)
    expect(stdout).toContain('"status":"succeeded"')
    expect(stdout).toContain('"quoteId":')
  }
})

test('the call that needs reflection is printed where reflection is, and nowhere else', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: '' })
  const readBanner = async (settings: Record<string, string>): Promise<string> => {
    const child = await line.start(['demo', '--examples'], settings)
    let said = ''
    for await (const text of child.stdout ?? []) if ((said += text).includes('Ctrl-C')) break
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
    return said
  }
  expect(await readBanner({ MEDIAGEN_ADMIN_PORT: '0' })).not.toMatch(/buf curl|by gRPC/)
  const own = await readBanner({ MEDIAGEN_ADMIN_GRPC_PORT: '0' })
  const called = /(http:\S+)\/mediagen\.v1\.QuotesService/.exec(own)?.[1]
  expect(called).toMatch(/^http:/)
  expect(own, 'not that of the public port').not.toMatch(new RegExp(`^gRPC +${called}$`, 'm'))
})

test('a demo key that was revoked is replaced', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: '' })
  const first = await line.json(['demo', '--once'])
  const [key] = await line.json(['admin', 'keys', 'list', '--account', first.account_id])
  await line.json(['admin', 'keys', 'revoke', key.key_id])
  const second = await line.json(['demo', '--once'])
  expect(second.key).not.toBe(first.key)
})

test('the kept key is the one that must work: another live key of the account does not save a revoked one', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: '' })
  const first = await line.json(['demo', '--once'])
  const [key] = await line.json(['admin', 'keys', 'list', '--account', first.account_id])
  await line.json(['admin', 'keys', 'create', '--account', first.account_id, '--permissions', 'generate'])
  await line.json(['admin', 'keys', 'revoke', key.key_id])
  expect((await line.json(['demo', '--once'])).key).not.toBe(first.key)
})

test('a rate limit of one request a second only makes it slower', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: '', MEDIAGEN_RATE_LIMIT: '1' })
  expect(await line.run(['demo', '--once'])).toMatchObject({ status: 0, stderr: '' })
})
