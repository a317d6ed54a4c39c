// Who a user is on which server: login, whoami, config, logout; and what else users ask a server: quotes and files.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { openCommandLine } from './command-line.ts'

async function openSession() {
  await using opened = new AsyncDisposableStack()
  const app = opened.use(await startTestApp({ MEDIAGEN_ROLES: 'api' }))
  const line = opened.use(openCommandLine())
  const env = { XDG_CONFIG_HOME: line.folder }
  const owned = opened.move()
  return {
    app,
    line,
    file: join(line.folder, 'mediagen/login.json'),
    run: (args: readonly string[], more: Readonly<Record<string, string>> = {}) => line.run(args, { ...env, ...more }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test('whoami names the server, the account and the key; config names where they are set and prints no key; logout forgets them', async () => {
  await using session = await openSession()
  const { run, app, file } = session
  const { url, account } = app
  const { accountId: account_id, key } = account
  expect((await run(['whoami'])).stderr).toContain('There is no API key for http://127.0.0.1:8080')
  expect(JSON.parse((await run(['config', '--json'])).stdout)).toEqual({
    url: 'http://127.0.0.1:8080',
    url_from: 'the default',
    key: null,
    key_from: null,
    login_file: file,
  })
  expect((await run(['login', '--url', url, '--key', key])).status).toBe(0)
  expect(statSync(file).mode & 0o077).toBe(0)
  const who = await run(['whoami'])
  expect([who.status, who.stderr]).toEqual([0, ''])
  expect(who.stdout).toMatch(
    new RegExp(`^server +${url}\naccount +\\S.* \\(${account_id}\\)\nkey +.*\\(key_\\w+\\), from mediagen login`),
  )
  expect(JSON.parse((await run(['whoami', '--json'])).stdout)).toMatchObject({
    url,
    account_id,
    key: { prefix: key.slice(0, 8) },
  })
  const config = await run(['config'])
  expect(config.stdout).toMatch(
    new RegExp(`^url +${url}\nurl_from +${file}\nkey +${key.slice(0, 8)}…\nkey_from +${file}\n`),
  )
  expect(config.stdout + who.stdout).not.toContain(key)
  // Of another server the key is not known.
  const other = await run(['config', '--json'], { MEDIAGEN_URL: 'http://other.example' })
  expect(JSON.parse(other.stdout)).toMatchObject({ url: 'http://other.example', url_from: 'MEDIAGEN_URL', key: null })
  expect((await run(['logout'])).stdout).toBe(`Signed out from ${url}.\n`)
  expect(existsSync(file)).toBe(false)
  const again = await run(['logout'], { MEDIAGEN_KEY: key })
  expect(again).toEqual({
    status: 0,
    stdout: 'You were not signed in.\n',
    stderr: 'MEDIAGEN_KEY is set all the same.\n',
  })
  expect((await app.send('/v1/wallet')).status, 'the key goes on working').toBe(200)
})

test('a quote says what a generation costs and starts nothing; uploads are listed and deleted', async () => {
  await using session = await openSession()
  const { app } = session
  const env = { MEDIAGEN_URL: app.url, MEDIAGEN_KEY: app.account.key }
  const run = (args: readonly string[]) => session.run(args, env)
  const quoted = await run(['quote', 'test/instant/text-to-image', '-p', 'x'])
  expect(quoted).toEqual({ status: 0, stdout: expect.stringMatching(/^\d+ credits?\n$/), stderr: '' })
  const { credits } = JSON.parse((await run(['quote', 'test/instant/text-to-image', '-p', 'x', '--json'])).stdout)
  expect(quoted.stdout).toContain(String(credits))
  expect((await app.send('/v1/jobs')).body.total).toBe(0)
  const wrong = await run(['quote', 'test/instant/text-to-image', '--set', 'prompt=5', '--set', 'nothing=1'])
  expect([wrong.status, wrong.stderr]).toEqual([1, expect.stringContaining('--set nothing=1')])
  const picture = join(session.line.folder, 'x.png')
  await sharp({ create: { width: 8, height: 8, channels: 3, background: '#123456' } }).toFile(picture)
  const { file_id } = JSON.parse((await run(['upload', picture, '--json'])).stdout)
  const listed = await run(['files'])
  expect(listed.stdout).toMatch(new RegExp(`^file_id .*\n${file_id} +image/png +\\d+ `))
  expect((await run(['files', 'delete', file_id])).status).toBe(0)
  expect((await run(['files', 'list'])).stdout).toBe('(none)\n')
  expect((await run(['files', 'delete', 'file_none'])).stderr).toContain('There is no upload')
})

test.skipIf(process.platform !== 'linux')(
  'open prints the address of the console, without a key, and opens it where there is a browser',
  async () => {
    await using line = openCommandLine()
    const env = { MEDIAGEN_URL: 'http://media.example/', MEDIAGEN_KEY: 'mgk_0123456789' }
    const nothing = await line.run(['open'], { ...env, PATH: line.folder })
    expect(nothing).toEqual({
      status: 0,
      stdout: 'http://media.example/\n',
      stderr: 'There is no program here that opens it.\n',
    })
    const opened = join(line.folder, 'opened')
    writeFileSync(join(line.folder, 'xdg-open'), `#!/bin/sh\necho "$@" > ${opened}\n`, { mode: 0o755 })
    expect((await line.run(['open'], { ...env, PATH: line.folder })).stderr).toBe('')
    await expect.poll(() => existsSync(opened) && readFileSync(opened, 'utf8')).toBe('http://media.example/\n')
  },
)

test('mediagen alone prints its help to standard output, and serve takes a port', async () => {
  await using line = openCommandLine()
  const alone = await line.run([])
  expect([alone.status, alone.stderr]).toEqual([0, ''])
  expect(alone.stdout).toContain('Usage: mediagen')
  const wrong = await line.run(['serve', '--port', '65536'])
  expect([wrong.status, wrong.stderr]).toEqual([
    1,
    expect.stringContaining('MEDIAGEN_HTTP_PORT must be a whole number'),
  ])
})
