// packages/client/python/mediagen.py, run by the machine's Python against a real server (P99).
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { afterAll, describe, expect, test } from 'vitest'
import { openReceiver } from '../outgoing/receiver.ts'
import { startTestApp, type TestAccount } from '../test-app.ts'
import { openForgetfulProxy, openProxy } from './spoiled-proxy.ts'

const root = join(import.meta.dirname, '../..')
const place = join(root, 'packages/client/python')
const python = ['/usr/bin/python3', 'python3'].find(hasRequests)
const missing = python ? '' : ' (SKIPPED: no Python with requests on this machine)'
if (!python)
  console.warn('SKIPPED tests of the Python client: install python3-requests (apt-get install python3-requests).')
const inPython = test.skipIf(!python)

const app = await startTestApp({ MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'true' })
const folder = mkdtempSync(join(tmpdir(), 'mediagen-python-'))
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

function hasRequests(program: string): boolean {
  try {
    execFileSync(program, ['-c', 'import requests'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Runs a program that has `client` and `model`, and returns what it printed: a line of JSON for each call of `tell`. */
async function run(code: string, { account = app.account, url = app.url, env = {} } = {}): Promise<any[]> {
  const given = {
    ...process.env,
    PYTHONPATH: place,
    PYTHONDONTWRITEBYTECODE: '1',
    MEDIAGEN_URL: url,
    MEDIAGEN_KEY: account.key,
    ...env,
  }
  const program = `
import json, mediagen
client = mediagen.Client()
model = "test/instant/text-to-image"
tell = lambda *values: print(json.dumps(values[0] if len(values) == 1 else values))
${code}`
  const { stdout } = await promisify(execFile)(python ?? '', ['-c', program], { cwd: folder, env: given })
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

async function readAccount({ key }: TestAccount) {
  const jobs = await app.send('/v1/jobs', { key })
  const { body: wallet } = await app.send('/v1/wallet', { key })
  return { jobs: jobs.body.total, ...wallet }
}

inPython.each(['packages/client/python/README.md', 'docs/clients.md'])(
  `the snippet of %s writes a picture, and pays once per idempotency key${missing}`,
  async (page) => {
    const [, snippet = ''] = /```python\n([\s\S]*?)```/.exec(readFileSync(join(root, page), 'utf8')) ?? []
    const pasted = snippet
      .replace('builtin/image/art/text-to-image', 'test/instant/text-to-image')
      .replace('"http://127.0.0.1:8080", "mgk_…"', '')
    const account = await app.createAccount(100)
    const env = { ...process.env, PYTHONPATH: place, MEDIAGEN_URL: app.url, MEDIAGEN_KEY: account.key }
    const paste = () => promisify(execFile)(python ?? '', ['-Bc', pasted], { cwd: folder, env })
    const { stdout } = await paste()
    expect((await sharp(join(folder, 'aurora.png')).metadata()).format).toBe('png')
    rmSync(join(folder, 'aurora.png'))
    expect(await readAccount(account)).toEqual({ jobs: 1, available: 97, held: 0 })
    expect((await paste()).stdout).toBe(stdout)
    const jobs = snippet.includes('idempotency_key') ? 1 : 2
    expect(await readAccount(account)).toEqual({ jobs, available: 100 - 3 * jobs, held: 0 })
  },
)

inPython(`labels stay with the job, by a quote and by a run${missing}`, async () => {
  const labels = { team: 'ads', note: 'Zürich, "9" \\ 🎨' }
  const told = await run(`
labels = json.loads(${JSON.stringify(JSON.stringify(labels))})
tell(client.generate(model, {"prompt": "x"}, labels=labels)["labels"])
tell(client.run(model, {"prompt": "x"}, 5, labels=labels)["labels"])
for bad in ({"bad": "x\\ny"}, {"bad/": "x"}):
    try:
        client.generate(model, {"prompt": "x"}, labels=bad)
    except (ValueError, mediagen.Refused) as error:
        tell("bad" in str(error))`)
  expect(told).toEqual([labels, labels, true, true])
})

inPython(`the end of a job is sent to its webhook_url, by a quote and by a run (P303)${missing}`, async () => {
  await using receiver = await openReceiver()
  const told = await run(`
url = ${JSON.stringify(receiver.url)}
tell(client.generate(model, {"prompt": "x"}, webhook_url=url + "?by=quote")["job_id"])
tell(client.run(model, {"prompt": "x"}, 5, webhook_url=url + "?by=run")["job_id"])
try:
    client.generate(model, {"prompt": "x"}, webhook_url="ftp://example.com/")
except mediagen.Refused as error:
    tell(error.code)`)
  const sent = [await receiver.next(), await receiver.next()].toSorted((a, b) => (a.path < b.path ? -1 : 1))
  expect(sent.map(({ path }) => path)).toEqual(['/hooks?by=quote', '/hooks?by=run'])
  expect(told).toEqual([...sent.map(({ event }) => event.data.job_id), 'invalid_request'])
})

describe('lost lines', () => {
  inPython(`a line that is cut during the wait, again and again: one job, one charge${missing}`, async () => {
    const account = await app.createAccount(100)
    const gate = app.gate()
    let watches = 0
    await using proxy = await openProxy(app.url, (path, pass, response) => {
      if (!path.endsWith('/events')) return false
      watches += 1
      if (watches === 3) gate.open()
      // The first event comes through, then the line is dead; the second time nothing comes at all.
      if (watches === 2) response.destroy()
      else pass()
      const { write } = response
      response.write = (...given: any[]) => {
        Reflect.apply(write, response, given)
        setImmediate(() => response.destroy())
        return true
      }
      return true
    })
    const code = `
states = []
job = client.generate("test/gate/text-to-image", ${JSON.stringify(gate.input)}, on_job=lambda job: states.append(job["status"]))
tell(job["status"], states[0])`
    const [[status, first]] = await run(code, { account, url: proxy.url })
    expect([status, ['queued', 'running'].includes(first)]).toEqual(['succeeded', true])
    expect(watches).toBeGreaterThanOrEqual(3)
    expect(await readAccount(account)).toEqual({ jobs: 1, available: 90, held: 0 })
  })

  inPython(`where too many jobs are watched already, the record is read and told instead${missing}`, async () => {
    const gate = app.gate()
    let watches = 0
    await using proxy = await openProxy(app.url, (path, _pass, response) => {
      if (!path.endsWith('/events')) return false
      watches += 1
      if (watches === 3) gate.open()
      const problem = { status: 429, detail: 'too many watches', code: 'rate_limited', retryable: true }
      response.writeHead(429, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem))
      return true
    })
    const code = `
mediagen._MOST_FAILURES = 2
states = []
job = client.generate("test/gate/text-to-image", ${JSON.stringify(gate.input)}, on_job=lambda job: states.append(job["status"]))
tell(job["status"], states[-1])`
    expect(await run(code, { url: proxy.url })).toEqual([['succeeded', 'succeeded']])
    expect(watches).toBeGreaterThanOrEqual(3)
  })

  inPython(`a start that another call with the same key overtook returns its job, paid once${missing}`, async () => {
    const account = await app.createAccount(100)
    const code = 'tell(client.generate(model, {"prompt": "x"}, idempotency_key="same")["job_id"])'
    const [first] = await run(code, { account })
    let lookups = 0
    await using proxy = await openProxy(app.url, (path, _pass, response) => {
      if (!path.startsWith('GET /v1/jobs?') || (lookups += 1) > 1) return false
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}')
      return true
    })
    expect(await run(code, { account, url: proxy.url })).toEqual([first])
    expect(await readAccount(account)).toEqual({ jobs: 1, available: 97, held: 0 })
  })

  inPython(`a key that may not read jobs starts them with an idempotency key all the same${missing}`, async () => {
    const { accountId } = await app.createAccount(100)
    const account = { accountId, key: await app.createKey(accountId, ['generate']) }
    const code = 'tell(client.generate(model, {"prompt": "x"}, idempotency_key="mine", wait=False)["job_id"])'
    expect(await run(code, { account })).toEqual([expect.stringMatching(/^job_/)])
  })

  inPython(`a start whose answer is lost is repeated with its key: one job, one charge${missing}`, async () => {
    const account = await app.createAccount(100)
    await using proxy = await openForgetfulProxy(app.url)
    const [job] = await run('tell(client.generate(model, {"prompt": "x"}))', { account, url: proxy.url })
    expect([job.status, proxy.seen.starts]).toEqual(['succeeded', 3])
    expect(await readAccount(account)).toEqual({ jobs: 1, available: 97, held: 0 })
  })

  inPython(`a run whose answer is lost is repeated with its key: one job, one charge${missing}`, async () => {
    const account = await app.createAccount(100)
    await using proxy = await openForgetfulProxy(app.url)
    const code = `
states = []
job = client.run(model, {"prompt": "x"}, 3, idempotency_key="mine", on_job=lambda job: states.append(job["status"]))
tell(job["status"], states[-1], job["billing"]["charged"])
tell(client.run(model, {"prompt": "x"}, 3, idempotency_key="mine", wait=False)["job_id"] == job["job_id"])`
    expect(await run(code, { account, url: proxy.url })).toEqual([['succeeded', 'succeeded', 3], true])
    expect(proxy.seen.starts).toBe(4)
    expect(await readAccount(account)).toEqual({ jobs: 1, available: 97, held: 0 })
  })

  inPython(`a start that is never answered names the key with which it is resumed${missing}`, async () => {
    const account = await app.createAccount(100)
    await using proxy = await openForgetfulProxy(app.url, 9)
    const code = `
mediagen._PAUSES = ()
try:
    client.generate(model, {"prompt": "x"})
except mediagen.Unreachable as error:
    tell(error.idempotency_key)`
    const [key] = await run(code, { account, url: proxy.url })
    const [job] = await run(`tell(client.generate(model, {"prompt": "x"}, idempotency_key="${key}"))`, { account })
    expect(job.status).toBe('succeeded')
    expect(await readAccount(account)).toEqual({ jobs: 1, available: 97, held: 0 })
  })

  inPython(`a file that does not arrive whole is fetched again, and never left half written${missing}`, async () => {
    const { body: job } = await app.generate('test/instant/text-to-image', { prompt: 'x' })
    let fetches = 0
    await using proxy = await openProxy(app.url, (path, _pass, response) => {
      if (!path.startsWith('GET /assets/') || (fetches += 1) > 1) return false
      response.writeHead(200).end('half')
      return true
    })
    const output = JSON.stringify({
      ...job.outputs[0],
      url: proxy.url + new URL(job.outputs[0].url).pathname + new URL(job.outputs[0].url).search,
    })
    const [path] = await run(`tell(str(client.download(json.loads(${JSON.stringify(output)}), "whole.png")))`)
    expect([path, fetches]).toEqual(['whole.png', 2])
    expect(readFileSync(join(folder, 'whole.png')).length).toBe(job.outputs[0].bytes)
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([])
  })
})

inPython(`idempotency keys are UUIDv7: they begin with the time, and none comes twice${missing}`, async () => {
  const before = Date.now()
  const [keys] = await run('tell([mediagen._create_idempotency_key() for _ in range(1000)])')
  const after = Date.now()
  expect(new Set(keys).size).toBe(1000)
  for (const key of keys) {
    const [, time = ''] = /^([\da-f]{8}-[\da-f]{4})-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.exec(key) ?? []
    const madeMs = Number.parseInt(time.replace('-', ''), 16)
    expect(madeMs >= before && madeMs <= after).toBe(true)
  }
})

inPython(`errors have codes: price, refusal, failure, no server${missing}`, async () => {
  const account = await app.createAccount(9)
  const code = `
def attempt(call):
    try:
        call()
    except mediagen.MediagenError as error:
        tell(type(error).__name__, error.code, str(error))
attempt(lambda: client.generate(model, {"prompt": "x"}, max_credits=2))
attempt(lambda: client.quote(model, {"prompt": "", "width": 1}))
attempt(lambda: client.run(model, {"prompt": "x"}, 2))
attempt(lambda: client.generate("test/gate/text-to-image", {"gate": "x"}))
attempt(lambda: client.generate("test/failing/text-to-image", {"prompt": "x"}))
attempt(lambda: mediagen.Client(key="mgk_wrong").wallet())
attempt(lambda: mediagen.Client("http://127.0.0.1:1").wallet())`
  const told = await run(code, { account })
  expect(told.map(([kind, name]) => [kind, name])).toEqual([
    ['TooExpensive', 'too_expensive'],
    ['Refused', 'invalid_input'],
    ['Refused', 'price_above_maximum'],
    ['Refused', 'insufficient_credits'],
    ['JobFailed', 'program_failed'],
    ['Refused', 'invalid_api_key'],
    ['Unreachable', 'unreachable'],
  ])
  expect(told[0]?.[2]).toBe('This costs 3 credits, which is more than the limit of 2. Nothing was started.')
  expect(told[1][2]).toMatch(/\/input\/prompt .*\n.*\/input\/width /s)
  expect(await readAccount(account)).toEqual({ jobs: 1, available: 9, held: 0 })
})

inPython(
  `an upload is an input; a wait that is over leaves the job to go on, and follow waits again${missing}`,
  async () => {
    const gate = app.gate()
    const picture = join(import.meta.dirname, '../models/picture.png')
    const code = `
tell(client.upload(${JSON.stringify(picture)})["content_type"])
job = client.generate("test/gate/text-to-image", ${JSON.stringify(gate.input)}, wait=False)
tell(job["status"])
try:
    client.follow(job["job_id"], timeout=0.3)
except TimeoutError as error:
    tell(str(error))
open(${JSON.stringify(gate.input.gate)}, "w").close()
tell(client.follow(job["job_id"])["status"])
tell(client.cancel(job["job_id"])["status"])
tell(client.models(search="instant", limit=1)["total"], client.model(model)["id"], client.wallet()["held"])
tell(client.usage(from_="2026-01-01", to="2026-01-31", group_by="day,label:team")["from"])`
    const [type, started, late, ended, still, found, used] = await run(code)
    expect([type, started, ended, still]).toEqual(['image/png', 'queued', 'succeeded', 'succeeded'])
    expect(late).toContain('has not ended yet')
    expect(found).toEqual([expect.any(Number), 'test/instant/text-to-image', 0])
    expect(used).toBe('2026-01-01')
  },
)

inPython(`the key goes to no other server, and an entry of .netrc does not replace it${missing}`, async () => {
  const home = mkdtempSync(join(folder, 'home-'))
  const seen: string[] = []
  await using other = await openProxy(app.url, (_path, _pass, response) => {
    seen.push(response.req.headers.authorization ?? 'none')
    response.writeHead(200).end('x')
    return true
  })
  writeFileSync(join(home, '.netrc'), 'machine 127.0.0.1 login a password b\n', { mode: 0o600 })
  const sum = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881'
  const code = `
tell(client.wallet()["held"])
client.download({"url": "${other.url}/x.png", "sha256": "${sum}"}, "x.png")`
  expect(await run(code, { env: { HOME: home } })).toEqual([0])
  expect([seen, existsSync(join(folder, 'x.png'))]).toEqual([['none'], true])
})

inPython(`P225 the secret of a webhook is replaced${missing}`, async () => {
  const key = await app.createKey(app.account.accountId, ['webhooks'])
  const { body: made } = await app.send('/v1/webhooks', { key, body: { url: 'https://example.com/hooks' } })
  const code = `
try:
    client.rotate_webhook_secret("../wallet")
except mediagen.Refused as error:
    tell(error.code)
tell(client.rotate_webhook_secret("${made.webhook_id}"))`
  const [refused, rotated] = await run(code, { account: { ...app.account, key } })
  expect(refused).toBe('webhook_not_found')
  expect(rotated).toMatchObject({ webhook_id: made.webhook_id, previous_secret_until: expect.any(String) })
  expect(rotated.secret).toMatch(/^whsec_/)
  expect(rotated.secret).not.toBe(made.secret)
})
