// The commands of users, against a real server: from a prompt to a file, and what goes wrong on the way.
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import sharp from 'sharp'
import { afterAll, describe, expect, test } from 'vitest'
import { openProxy } from '../client/spoiled-proxy.ts'
import { openReceiver } from '../outgoing/receiver.ts'
import { startTestApp } from '../test-app.ts'
import { openCommandLine, watchEnd } from './command-line.ts'

const app = await startTestApp({ MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'true' })
const config = mkdtempSync(join(tmpdir(), 'mediagen-login-'))
afterAll(async () => {
  rmSync(config, { recursive: true })
  await app[Symbol.asyncDispose]()
})
const model = 'test/instant/text-to-image'

/** A command line of an account with 100 credits. */
async function openUser() {
  const account = await app.createAccount(100)
  const line = openCommandLine({ MEDIAGEN_URL: app.url, MEDIAGEN_KEY: account.key, XDG_CONFIG_HOME: config })
  return { account, line, [Symbol.asyncDispose]: () => line[Symbol.asyncDispose]() }
}

describe('mediagen generate', () => {
  test('says the price, waits and writes the file', async () => {
    await using user = await openUser()
    const { line } = user
    const made = await line.run(['generate', model, '--prompt', 'x', '-o', 'fox.png'])
    expect(made).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^files +fox\.png\ncredits +3\njob_id +job_/),
    })
    expect(made.stderr).toMatch(/^3 credits\njob_\w+ queued\n/)
    const file = join(line.folder, 'fox.png')
    expect((await sharp(file).metadata()).format).toBe('png')
    expect(statSync(file).mode & 0o777).toBe(0o644)
  })

  test('--label puts labels on the job, which show and jobs show name', async () => {
    await using user = await openUser()
    const { line } = user
    const labels = ['--label', 'team=ads', '--label', 'note=Zürich, "a=b"']
    const { stdout } = await line.run(['generate', model, '--prompt', 'x', ...labels, '--json'])
    const { job_id } = JSON.parse(stdout)
    expect((await line.json(['show', job_id])).labels).toEqual({ team: 'ads', note: 'Zürich, "a=b"' })
    expect((await line.run(['show', job_id])).stdout).toMatch(/^labels +.*team=ads/m)
    for (const [wrong, words] of [
      [['team'], /a name and a value, such as team=ads/],
      [['team='], /a name and a value/],
      [['a=1', '--label', 'a=2'], /a label "a" already/],
      [['a b=1'], /must have a name of 1 to 64 letters|must be labels such as/],
    ] as const) {
      const { status, stderr } = await line.run(['generate', model, '--prompt', 'x', '--label', ...wrong])
      expect([status, stderr]).toEqual([1, expect.stringMatching(words)])
    }
    expect((await app.send('/v1/jobs', { key: user.account.key })).body.total).toBe(1)
  })

  test('--webhook-url has the end of the job sent there (P303)', async () => {
    await using user = await openUser()
    await using receiver = await openReceiver()
    const url = `${receiver.url}?by=cli`
    const { stdout } = await user.line.run(['generate', model, '--prompt', 'x', '--webhook-url', url, '--json'])
    expect(await receiver.next()).toMatchObject({
      path: '/hooks?by=cli',
      event: { data: { job_id: JSON.parse(stdout).job_id } },
    })
    const { secret } = await user.line.json(['webhooks', 'rotate-secret', 'starts'])
    expect(secret).toMatch(/^whsec_/)
    const wrong = ['generate', model, '--prompt', 'x', '--webhook-url', 'example.com']
    expect((await user.line.run(wrong)).stderr).toMatch(/Mediagen-Webhook-Url must be an absolute URL/)
  })

  test('a key that may not wait for the job learns that it goes on', async () => {
    await using user = await openUser()
    const key = await app.createKey(user.account.accountId, ['generate'])
    const { status, stderr } = await user.line.run(['generate', model, '--prompt', 'x'], { MEDIAGEN_KEY: key })
    expect(status).toBe(1)
    expect(stderr).toMatch(/^The job goes on; “mediagen watch job_\w+” waits for it, with a key that may\.$/m)
    expect(stderr).toContain('lacks the permission jobs:read')
  })

  test('names the file by product and job, and prints JSON', async () => {
    await using user = await openUser()
    const { stdout } = await user.line.run(['generate', model, '--set', 'prompt=x', '--set', 'width=512', '--json'])
    const { files, job_id, credits } = JSON.parse(stdout)
    expect(files).toEqual([`instant-${job_id.slice(-8)}.png`])
    expect(credits).toBe(2)
    expect(existsSync(join(user.line.folder, files[0]))).toBe(true)
  })

  test('takes the input from a file, with values on top', async () => {
    await using user = await openUser()
    writeFileSync(join(user.line.folder, 'input.json'), JSON.stringify({ prompt: 'from the file', nested: { a: 1 } }))
    const values = ['--set', 'nested.b=["c"]', '--set', 'prompt=123']
    const args = ['generate', model, '--input', 'input.json', ...values, '--detach', '--json']
    const { job_id } = JSON.parse((await user.line.run(args)).stdout)
    const { body } = await app.send(`/v1/jobs/${job_id}`, { key: user.account.key })
    expect(body.input).toEqual({ prompt: '123', nested: { a: 1, b: ['c'] } })
    const watched = await user.line.run(['watch', job_id, '-o', 'later.png'])
    expect(watched.status).toBe(0)
    expect(existsSync(join(user.line.folder, 'later.png'))).toBe(true)
  })

  test('starts nothing above --max-credits', async () => {
    await using user = await openUser()
    const { status, stderr } = await user.line.run(['generate', model, '-p', 'x', '--max-credits', '2'])
    expect([status, stderr]).toEqual([1, expect.stringContaining('costs 3 credits, which is more than the limit of 2')])
    expect((await app.send('/v1/jobs', { key: user.account.key })).body.total).toBe(0)
  })

  test('resumes by its idempotency key, and pays once', async () => {
    await using user = await openUser()
    const args = ['generate', model, '-p', 'x', '--idempotency-key', 'mine', '--json']
    const [one, two] = [await user.line.run(args), await user.line.run(args)]
    expect(JSON.parse(two.stdout).job_id).toBe(JSON.parse(one.stdout).job_id)
    expect((await app.send('/v1/wallet', { key: user.account.key })).body.available).toBe(97)
  })

  test('a failed job is one sentence with what was charged', async () => {
    await using user = await openUser()
    const { status, stderr } = await user.line.run(['generate', 'test/failing/text-to-image', '-p', 'x'])
    expect([status, stderr]).toEqual([1, expect.stringMatching(/\nmediagen: .*Nothing was charged\. \(job_\w+\)\n$/)])
  })

  test.each([
    [['--set', 'prompt'], '--set prompt must have the form name=value.'],
    [['--input', 'none.json'], 'none.json cannot be read as JSON: no such file or directory.'],
    [['--set', 'prompt=@none.png'], 'none.png cannot be read: no such file or directory.'],
    [['-p', 'x', '--set', 'width=1'], '--set width=1 must be at least 64'],
    [['-p', 'x', '--set', 'width=wide'], '--set width=wide must be a whole number'],
    [['-p', 'x', '--set', 'prompt.a=1'], 'puts a value into prompt, which is not an object'],
    [['-p', 'x', '--set', 'prompt+=1'], 'adds an item to prompt, which is not a list'],
  ])('%j is refused by name', async (args, words) => {
    await using user = await openUser()
    const { status, stderr } = await user.line.run(['generate', model, ...args])
    expect([status, stderr]).toEqual([1, expect.stringContaining(words)])
  })

  test('wrong fields are named as they were written, each once, with a similar name', async () => {
    await using user = await openUser()
    const { line } = user
    const run = async (...args: string[]): Promise<string> => (await line.run(['generate', model, ...args])).stderr
    const look = `“mediagen models show ${model}” lists its fields.\n`
    expect(await run('--set', 'promt=x')).toBe(
      `mediagen: The input does not fit ${model}:\n  --prompt is required\n  --set promt=x is not a known field (did you mean "prompt"?)\n${look}`,
    )
    expect(await run('-p', '')).toBe(
      `mediagen: The input does not fit ${model}:\n  --prompt must not be empty\n${look}`,
    )
    writeFileSync(join(line.folder, 'input.json'), JSON.stringify({ prompt: 'x', widht: 1 }))
    expect(await run('--input', 'input.json')).toContain('\n  widht in input.json is not a known field (did you mean')
    writeFileSync(join(line.folder, 'input.json'), JSON.stringify({ prompt: 'x', width: 'wide' }))
    expect(await run('--input', 'input.json')).toContain(
      '\n  width in input.json must be a whole number, and is "wide"\n',
    )
  })

  test('a misspelt model comes with similar ones', async () => {
    await using user = await openUser()
    expect((await user.line.run(['generate', 'test/instnt/text-to-image', '-p', 'x'])).stderr).toBe(
      `mediagen: There is no model "test/instnt/text-to-image"; did you mean "${model}"? “mediagen models” lists the models.\n`,
    )
  })

  test.each([
    ['none/fox.png', 'The output cannot be written to none: no such file or directory.'],
    ['.', '. is a folder: give -o the name of a file in it.'],
  ])('nothing is paid for an output that cannot be written to %s', async (output, words) => {
    await using user = await openUser()
    const { status, stderr } = await user.line.run(['generate', model, '-p', 'x', '-o', output])
    expect([status, stderr]).toEqual([1, `mediagen: ${words}\n`])
    expect((await app.send('/v1/jobs', { key: user.account.key })).body.total).toBe(0)
  })

  test('adds items to a list', async () => {
    await using user = await openUser()
    const args = ['--set', 'nested.list+=1', '--set', 'nested.list+=two', '--detach', '--json']
    const { job_id } = JSON.parse((await user.line.run(['generate', model, '-p', 'x', ...args])).stdout)
    const { body } = await app.send(`/v1/jobs/${job_id}`, { key: user.account.key })
    expect(body.input.nested).toEqual({ list: [1, 'two'] })
  })

  test('Ctrl-C cancels the job and says that nothing was charged', async () => {
    await using user = await openUser()
    const gate = app.gate()
    const child = await user.line.start(['generate', 'test/gate/text-to-image', '--set', `gate=${gate.input.gate}`])
    const ended = watchEnd(child)
    const lines = createInterface({ input: child.stderr as Readable })
    for await (const said of lines) if (said.endsWith('running')) break
    child.kill('SIGINT')
    // What a terminal sends to an older Node in front comes, forwarded, as well; it is no second wish.
    child.kill('SIGINT')
    const { status, stderr } = await ended
    expect(status).toBe(1)
    expect(stderr.match(/othing was charged/g)).toHaveLength(1)
    expect((await app.send('/v1/wallet', { key: user.account.key })).body).toEqual({ available: 100, held: 0 })
  })
})

test('mediagen login keeps address and key for this user only', async () => {
  const { key } = await app.createAccount(7)
  await using line = openCommandLine({ XDG_CONFIG_HOME: config })
  const before = await line.run(['wallet'])
  expect([before.status, before.stderr]).toEqual([1, expect.stringContaining('Run mediagen login')])
  const wrong = await line.run(['login', '--url', app.url, '--key', 'mgk_wrong'])
  expect([wrong.status, wrong.stderr]).toEqual([1, expect.stringContaining('The API key is unknown')])
  expect(wrong.stderr).toContain('The key begins with mgk_wron and comes from --key.')
  const login = await line.run(['login', '--url', `${app.url}/`, '--key', key])
  expect(login).toMatchObject({
    status: 0,
    stdout: expect.stringContaining(`Signed in at ${app.url}, with 7 credits available.`),
  })
  const file = join(config, 'mediagen/login.json')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ url: app.url, key })
  expect((await line.run(['wallet'])).stdout).toBe('available  7\nheld       0\n')
  const elsewhere = await line.run(['wallet'], { MEDIAGEN_URL: 'http://127.0.0.1:1' })
  expect(elsewhere.stderr).toContain('There is no API key for http://127.0.0.1:1')
  rmSync(file)
})

test('a server that cannot be reached ends a generation at once, with nothing to resume', async () => {
  await using user = await openUser()
  const attempts: string[] = []
  await using proxy = await openProxy(app.url, (path, _pass, response) => {
    attempts.push(path)
    response.destroy()
    return true
  })
  const { status, stderr } = await user.line.run(['generate', model, '-p', 'x'], { MEDIAGEN_URL: proxy.url })
  expect(status).toBe(1)
  expect(stderr).toMatch(/^mediagen: No answer came from [^\n]+MEDIAGEN_URL[^\n]+\n$/)
  expect(stderr).toContain(proxy.url)
  expect(attempts, 'it is not tried again').toEqual(['POST /v1/quotes'])
})

test('a server that is not there is one sentence', async () => {
  await using user = await openUser()
  const { status, stderr } = await user.line.run(['wallet'], { MEDIAGEN_URL: 'http://127.0.0.1:1' })
  const advice =
    'Is the server running? “npm start” or “mediagen serve” starts one; MEDIAGEN_URL or “mediagen login” names another address.'
  expect([status, stderr]).toEqual([1, `mediagen: No answer came from http://127.0.0.1:1. ${advice}\n`])
})

test('an address that is none is refused by name, and a slash at its end is no other server', async () => {
  await using user = await openUser()
  const { stderr } = await user.line.run(['wallet'], { MEDIAGEN_URL: 'example' })
  expect(stderr).toContain(
    'MEDIAGEN_URL must be the address of a server, such as http://127.0.0.1:8080, and is “example”.',
  )
  await user.line.run(['login', '--url', app.url, '--key', user.account.key])
  const env = { MEDIAGEN_URL: `${app.url}/`, MEDIAGEN_KEY: '' }
  expect((await user.line.run(['wallet'], env)).stdout).toContain('available  100')
  rmSync(join(config, 'mediagen/login.json'))
})

test.each([
  ['mgk_…', 'This is not an API key: it contains "…", which no key does. The key begins with mgk_…'],
  ['mgk_0123456789', 'The API key is unknown, has expired or was revoked. The key begins with mgk_0123'],
])('the key %s is refused with where it came from and where keys come from', async (key, words) => {
  await using line = openCommandLine({ MEDIAGEN_URL: app.url, MEDIAGEN_KEY: key, XDG_CONFIG_HOME: config })
  const { status, stderr } = await line.run(['wallet'])
  const rest = 'and comes from MEDIAGEN_KEY. “npm start” prints a key, and “mediagen admin keys create” makes one.'
  expect([status, stderr]).toEqual([1, `mediagen: ${words} ${rest}\n`])
})

test('models show says what a model takes and costs, with a command that works', async () => {
  await using user = await openUser()
  const { line } = user
  const shown = (await line.run(['models', 'show', model])).stdout
  expect(shown).toMatch(/^test\/instant\/text-to-image \(Instant\)\nMakes a picture at once\.\nPrice: /)
  expect(shown).toMatch(/^ {2}prompt +text, required, 1 to \d+ characters$/m)
  expect(shown).toMatch(/^ {2}width +whole number, default 1024, 64 to \d+$/m)
  const [, example = ''] = /Example:\n {2}(.*)\n$/.exec(shown) ?? []
  const words = [...example.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
  expect(await line.run(words.slice(1))).toMatchObject({ status: 0 })
  expect(await line.json(['models', 'show', model])).toMatchObject({ id: model, openapi: { openapi: '3.1.1' } })
  expect((await line.run(['models', 'show', 'test/instant'])).stderr).toContain('did you mean')
  expect((await line.run(['models', 'show', 'instants'])).stderr).toContain(
    `did you mean "test/instant/edit" or "${model}"?`,
  )
  expect((await line.run(['generate', '--help'])).stdout).not.toContain('default: []')
})

test('models, jobs and uploads of users', async () => {
  await using user = await openUser()
  const { line } = user
  expect((await line.run(['models', '--search', 'instant'])).stdout).toContain(model)
  writeFileSync(join(line.folder, 'in.png'), readFileSync(join(import.meta.dirname, '../models/picture.png')))
  expect((await line.json(['upload', 'in.png'])).content_type).toBe('image/png')
  await line.run(['generate', model, '-p', 'a walrus', '--detach'])
  expect(await line.json(['jobs', '--search', 'walrus'])).toMatchObject([{ model, prompt: 'a walrus' }])
})

test('one job of a user is shown, canceled and deleted', async () => {
  await using user = await openUser()
  const { line } = user
  const gate = app.gate()
  const args = ['generate', 'test/gate/text-to-image', '--set', `gate=${gate.input.gate}`, '--detach']
  const { job_id: waiting } = await line.json(args)
  expect(await line.json(['cancel', waiting])).toMatchObject({ job_id: waiting, charged: 0 })
  expect((await line.run(['watch', waiting])).stderr).toContain('othing was charged')

  const { job_id: id } = await line.json(['generate', model, '-p', 'a walrus', '-o', 'walrus.png'])
  const shown = (await line.run(['show', id])).stdout
  expect(shown).toMatch(/^status +succeeded$/m)
  expect(shown).toMatch(/^credits +3$/m)
  expect(shown).toMatch(/^input +\{"prompt":"a walrus"\}$/m)
  expect(await line.json(['show', id])).toMatchObject({
    job_id: id,
    billing: { charged: 3 },
    outputs: [{ width: 1 }],
  })
  expect(await line.json(['delete', id])).toEqual({ deleted: id })
  expect((await line.run(['show', id])).stdout).toMatch(/^deleted_at +2/m)
  expect((await line.run(['delete', 'job_none'])).stderr).toMatch(/^mediagen: There is no job/)
})

test('options after a subcommand are those of the subcommand', async () => {
  await using line = openCommandLine({ XDG_CONFIG_HOME: config })
  await line.run(['migrate'])
  const listed = await line.run(['admin', 'jobs', 'list', '--status', 'failed', '--limit', '5', '--json'])
  expect(listed).toEqual({ status: 0, stdout: '[]\n', stderr: '' })
})
