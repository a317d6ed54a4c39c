// The lean install, for real: a copy of this checkout where the models that ship are not installed is small, and serves
// the models of its operator.
import { execFile } from 'node:child_process'
import { cp, lstat, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestAccount, openClient, openCommandLine } from './cli/command-line.ts'

const root = join(import.meta.dirname, '..')
// Packages come from the registry, unless npm has them in its cache.
const installMs = 300_000
const mostMegabytes = 180
const lean = ['--omit=dev', '--include-workspace-root', '-w', 'packages/engine', '-w', 'packages/client']
const notCopied = new Set(['node_modules', '.git', 'data', 'out', 'dist'])
// npm is to run on the Node that runs this test, whatever the machine has.
const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }
let checkout: string

beforeAll(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'mediagen-lean-'))
  await cp(root, checkout, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !notCopied.has(basename(path)),
  })
  const options = [...lean, '--prefer-offline', '--no-audit', '--no-fund']
  await promisify(execFile)('npm', ['ci', ...options], { cwd: checkout, env })
}, installMs)
afterAll(() => rm(checkout, { recursive: true, force: true }))

/** What a folder takes of the disk, as du(1) counts. */
async function diskBytes(folder: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    bytes += (await lstat(join(entry.parentPath, entry.name))).blocks * 512
  return bytes
}

test(`it takes less than ${mostMegabytes} MB of the disk`, async () => {
  expect((await diskBytes(join(checkout, 'node_modules'))) / 1024 ** 2).toBeLessThan(mostMegabytes)
})

test('it serves command models, and no built-in ones', async () => {
  await using line = openCommandLine({}, checkout)
  const account = await createTestAccount(line)
  const server = await line.serve()
  const client = openClient(server.httpUrl, account.key)
  const { body: list } = await client.send('/v1/models?limit=100')
  const owners = new Set((list.data as { id: string }[]).map(({ id }) => id.split('/')[0]))
  expect([...owners]).toEqual(['test'])
  const { body: job } = await client.generate('test/instant/text-to-image', { prompt: 'x' }, true)
  expect(job).toMatchObject({ status: 'succeeded', outputs: [{ content_type: 'image/png' }] })
  const output = await fetch(job.outputs[0].url)
  expect((await sharp(await output.arrayBuffer()).metadata()).format).toBe('png')
})

test("the lines of docs/your-own-program.md make an account, a key, a server, and a sound by a model of one's own", async () => {
  const page = await readFile(join(checkout, 'docs/your-own-program.md'), 'utf8')
  const [, lines = '', generate = ''] =
    /```sh\n(npm ci --omit=dev --include-workspace-root [\s\S]*?)```[^`]*```sh\n([\s\S]*?)```/.exec(page) ?? []
  await using line = openCommandLine({}, checkout)
  const catalog = join(line.folder, 'my-models.yaml')
  await writeFile(catalog, /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '')
  await writeFile(join(line.folder, 'tone.py'), /```python\n([\s\S]*?)```/.exec(page)?.[1] ?? '')
  const paste = (text: string, more = {}) => {
    const pasted = text
      .replace(/^npm ci.*$/m, '')
      .replace('my-models.yaml', catalog)
      .replaceAll('data/', `${line.dataDir}/`)
      .replace('$PWD', checkout)
      .replace(/^mediagen serve$/m, '')
    const options = { cwd: line.folder, env: { ...env, MEDIAGEN_DATA_DIR: line.dataDir, ...more } }
    return promisify(execFile)('sh', ['-euc', pasted], options)
  }
  await paste(lines)
  expect((await lstat(join(line.dataDir, 'key'))).mode & 0o777).toBe(0o600)
  const server = await line.serve({ MEDIAGEN_CATALOG: catalog })
  await paste(generate, { MEDIAGEN_URL: server.httpUrl })
  expect((await readFile(join(line.folder, 'tone.wav'))).subarray(0, 4).toString()).toBe('RIFF')
})

test(
  'a model of a package that is not installed says which, and is ready once it is',
  async () => {
    await using line = openCommandLine({}, checkout)
    const catalog = join(line.folder, 'gemini.yaml')
    const page = await readFile(join(checkout, 'docs/backends/ai-sdk.md'), 'utf8')
    // Nothing answers there; a hosted service is believed to come back.
    const example = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
    await writeFile(catalog, example.replace('token_env: GEMINI_API_KEY', "base_url: 'http://127.0.0.1:9'"))
    const list = async () => (await line.spawn(['admin', 'models', 'list'], { MEDIAGEN_CATALOG: catalog })).stdout
    const [, wanted = ''] = /package @ai-sdk\/google is not installed: install (\S+),/.exec(await list()) ?? []
    const options = ['--no-save', ...lean, '--prefer-offline', '--no-audit', '--no-fund']
    await promisify(execFile)('npm', ['install', ...options, wanted], { cwd: checkout, env })
    expect(await list()).toMatch(/google\/gemini\/text-to-image .* yes\n$/)
    expect((await readdir(join(checkout, 'node_modules'))).includes('vitest')).toBe(false)
  },
  installMs,
)

test('its demo says what is missing', async () => {
  await using line = openCommandLine({}, checkout)
  const { status, stderr } = await line.spawn(['demo', '--once'])
  expect(status).toBe(1)
  expect(stderr).toMatch(/^mediagen: The demo .* not installed: run `npm ci`.*\n$/)
})

test('its programs run without the folder of the models that ship, too', async () => {
  await rm(join(checkout, 'packages/builtin'), { recursive: true })
  await using line = openCommandLine({}, checkout)
  const { status, stdout, stderr } = await line.spawn(['admin', 'models', 'list', '--json'])
  expect(status, stderr).toBe(0)
  expect(JSON.parse(stdout)).not.toHaveLength(0)
})
