// The client in a project of its own: packed and installed as docs/clients.md says, from JavaScript, TypeScript and a bundle;
// and the provider of the AI SDK, packed.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { bundle } from '../../src/gateway/pages/bundle.ts'
import { findOldNode } from '../old-node.ts'
import { startTestApp } from '../test-app.ts'

const root = join(import.meta.dirname, '../..')
const program = (name: string): string => join(root, 'node_modules/.bin', name)
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const pages = ['docs/clients.md', 'packages/client/README.md']
const nodes = [{ version: process.versions.node, path: process.execPath }, findOldNode() ?? []].flat()

const app = await startTestApp()
const project = mkdtempSync(join(tmpdir(), 'mediagen-project-'))
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  rmSync(project, { recursive: true })
})

async function run(command: string, args: readonly string[], cwd = project): Promise<string> {
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }
  return (await promisify(execFile)(command, args, { cwd, env })).stdout
}

/** The example of a page, with the model, the server and the key of this test. */
function example(page: string): string {
  const [, code = ''] = /```ts\n([\s\S]*?)```/.exec(read(page)) ?? []
  return code
    .replace('builtin/image/art/text-to-image', 'test/instant/text-to-image')
    .replace('http://127.0.0.1:8080', app.url)
    .replace('mgk_…', app.account.key)
}

const [, pack = '', install = ''] = /```sh\nnpm (pack .+)\n```[\s\S]*?```sh\nnpm (install .+)\n```/.exec(
  read('docs/clients.md'),
) ?? [undefined]
const tarball = (await run('npm', [...pack.split(' '), '--silent', `--pack-destination=${project}`], root)).trim()
expect(install.endsWith(`/${tarball}`), 'the page names the file that the command makes').toBe(true)
writeFileSync(join(project, 'package.json'), '{}')
await run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${tarball}`])
await run(program('tsc'), ['--init'])

const providerPage = 'packages/ai-sdk/README.md'
const [, packProvider = ''] = /^npm (pack \.\/packages\/ai-sdk)$/m.exec(read('docs/clients.md')) ?? []
const provider = (
  await run('npm', [...packProvider.split(' '), '--silent', `--pack-destination=${project}`], root)
).trim()
// Unpacked, since npm would fetch what it needs.
const modules = join(project, 'node_modules')
mkdirSync(join(modules, '@mediagen/ai-sdk'), { recursive: true })
await run('tar', ['-xzf', provider, '-C', join(modules, '@mediagen/ai-sdk'), '--strip-components=1'])
mkdirSync(join(modules, '@ai-sdk'))
const { resolve } = createRequire(join(root, 'packages/ai-sdk/package.json'))
symlinkSync(dirname(resolve('@ai-sdk/provider/package.json')), join(modules, '@ai-sdk/provider'))
symlinkSync(join(root, 'node_modules/ai'), join(modules, 'ai'))

test.for(nodes.flatMap((node) => pages.map((page) => ({ ...node, page }))))(
  'Node $version runs the example of $page as plain JavaScript',
  async ({ path, page }) => {
    writeFileSync(join(project, 'example.mjs'), example(page))
    expect(await run(path, ['example.mjs'])).toMatch(/^(?:costs 3\n)?[\s\S]*^succeeded 1$[\s\S]*^image\/png \d+ 3$/m)
  },
)

test('the provider of the AI SDK runs its example, and has types', async () => {
  expect(read('docs/clients.md')).toContain(`/${provider}\n`)
  writeFileSync(join(project, 'provider.mjs'), example(providerPage))
  const stdout = await run(process.execPath, ['provider.mjs'])
  expect(stdout).toMatch(/^image\/png \d+ \{\s+images: \[\s+\{ jobId: 'job_\w+', quoted: 3, charged: 3 \}\s+\]\s+\}$/m)
  writeFileSync(join(project, 'provider.mts'), example(providerPage))
  writeFileSync(join(project, 'mistaken.mts'), example(providerPage).replace('maxCredits: 5', 'maxCredits: true'))
  // The types of `ai` break the strictest options.
  const check = ['--noEmit', '--skipLibCheck', '--ignoreConfig', '--module', 'nodenext', 'provider.mts', 'mistaken.mts']
  const found = await run(program('tsc'), check).catch((error: { stdout: string }) => error.stdout)
  expect(found).toMatch(
    /^mistaken\.mts\(\d+,\d+\): error TS\d+: Type 'boolean' is not assignable to type 'number'\.\n$/,
  )
  for (const name of ['provider.mts', 'mistaken.mts']) rmSync(join(project, name))
})

test.each([
  ['tsc --init', []],
  ['a bundler', ['--module', 'preserve', '--moduleResolution', 'bundler']],
])('TypeScript checks the examples with the options of %s, and knows the types', async (_, options) => {
  for (const [index, page] of pages.entries()) writeFileSync(join(project, `example-${index}.mts`), example(page))
  writeFileSync(join(project, 'wrong.mts'), example(pages[0] ?? '').replace('job.credits', 'job.cost'))
  const check = ['--noEmit', '--skipLibCheck', 'false', ...options]
  const stdout = await run(program('tsc'), check).catch((error: { stdout: string }) => error.stdout)
  // And nothing else is wrong.
  expect(stdout).toMatch(/^wrong\.mts\(\d+,\d+\): error TS\d+: Property 'cost' does not exist on type 'Job'\.\n$/)
})

test('a bundle for browsers imports nothing', async () => {
  writeFileSync(join(project, 'page.js'), example(pages[0] ?? ''))
  const script = (await bundle(project, ['page.js'])).get('page') ?? ''
  expect(script).not.toMatch(/\bimport\b|\brequire\b/)
  writeFileSync(join(project, 'script.mjs'), script)
  expect(await run(process.execPath, ['script.mjs'])).toMatch(/^image\/png \d+ 3$/m)
})
