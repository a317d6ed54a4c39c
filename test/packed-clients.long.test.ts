// The tarballs of the clients and the wheel, each installed alone in an empty folder as from a registry, and used once.
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { afterAll, expect, test } from 'vitest'
import { buildWheel, findWheelBuilder, packClient } from '../deploy/pack-clients.ts'
import { findOldNode } from './old-node.ts'
import { startTestApp } from './test-app.ts'

// What the packages need comes from the registry, unless npm has it in its cache.
const installMs = 300_000
const app = await startTestApp()
const folder = mkdtempSync(join(tmpdir(), 'mediagen-clients-'))
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})
const model = 'test/instant/text-to-image'

// npm is to run on the Node that runs this test, whatever the machine has.
const env = {
  ...process.env,
  PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
  MEDIAGEN_URL: app.url,
  MEDIAGEN_KEY: app.account.key,
}

async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  return (await promisify(execFile)(program, args, { cwd, env })).stdout
}

/** Installs packages in an empty folder; returns it. */
async function install(...packages: readonly string[]): Promise<string> {
  const place = mkdtempSync(join(folder, 'project-'))
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--prefix', place]
  await run('npm', ['install', ...options, ...packages], place)
  return place
}

const old = findOldNode()
if (!old) console.warn('SKIPPED the packed client on an older Node: this machine has none.')
const useClient = `
  import { createClient } from '@mediagen/client'
  import { writeFileSync } from 'node:fs'
  const client = createClient({ url: process.env.MEDIAGEN_URL, key: process.env.MEDIAGEN_KEY })
  const job = await client.generate('${model}', { prompt: 'aurora' }, { maxCredits: 5 })
  const picture = await client.download(job.outputs[0])
  writeFileSync(process.argv[2], Buffer.from(await picture.arrayBuffer()))
  console.log(process.versions.node, job.status, job.credits)`

test(
  'the client, on this Node and an older one',
  async () => {
    const place = await install(packClient('client', folder))
    writeFileSync(join(place, 'use.mjs'), useClient)
    const nodes = [{ path: process.execPath, version: process.versions.node }, old ?? []].flat()
    for (const { path, version } of nodes) {
      expect(await run(path, ['use.mjs', `${version}.png`], place)).toBe(`${version} succeeded 3\n`)
      expect((await sharp(await readFile(join(place, `${version}.png`))).metadata()).format).toBe('png')
    }
  },
  installMs,
)

test(
  'the provider of the AI SDK, beside the SDK',
  async () => {
    const { devDependencies } = JSON.parse(await readFile(join(import.meta.dirname, '../package.json'), 'utf8'))
    const place = await install(packClient('ai-sdk', folder), `ai@${devDependencies.ai}`)
    writeFileSync(
      join(place, 'use.mjs'),
      `import { createMediagen } from '@mediagen/ai-sdk'
       import { generateImage } from 'ai'
       const mediagen = createMediagen({ baseURL: process.env.MEDIAGEN_URL, apiKey: process.env.MEDIAGEN_KEY, maxCredits: 5 })
       const { image, providerMetadata } = await generateImage({ model: mediagen.image('${model}'), prompt: 'aurora' })
       console.log(image.mediaType, providerMetadata.mediagen.images[0].charged)`,
    )
    expect(await run(process.execPath, ['use.mjs'], place)).toBe('image/png 3\n')
  },
  installMs,
)

const python = findWheelBuilder()
const canInstall = python !== undefined && has(python, 'import ensurepip, requests')
if (!canInstall)
  console.warn(
    'SKIPPED the wheel: install python3-setuptools python3-wheel python3-venv python3-requests (apt-get install …).',
  )

test.skipIf(!canInstall)(
  'the wheel, in a virtual environment',
  async () => {
    const wheel = buildWheel(folder)
    const place = mkdtempSync(join(folder, 'python-'))
    // It sees the machine's requests, so that nothing is fetched.
    await run(python ?? '', ['-m', 'venv', '--system-site-packages', 'venv'], place)
    await run('venv/bin/pip', ['install', '--no-index', '--disable-pip-version-check', wheel], place)
    const use = `
import mediagen
client = mediagen.Client()
job = client.generate("${model}", {"prompt": "aurora"}, max_credits=5)
client.download(job["outputs"][0], "aurora.png")
print(mediagen.__file__.startswith("${place}"), job["status"], job["credits"])`
    expect(await run('venv/bin/python', ['-c', use], place)).toBe('True succeeded 3\n')
    expect((await sharp(await readFile(join(place, 'aurora.png'))).metadata()).format).toBe('png')
  },
  installMs,
)

function has(program: string, code: string): boolean {
  try {
    execFileSync(program, ['-c', code], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
