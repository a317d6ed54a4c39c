// The client in a project of its own: packed and installed as docs/clients.md says, from JavaScript, TypeScript and a bundle.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

test.for(nodes.flatMap((node) => pages.map((page) => ({ ...node, page }))))(
  'Node $version runs the example of $page as plain JavaScript',
  async ({ path, page }) => {
    writeFileSync(join(project, 'example.mjs'), example(page))
    expect(await run(path, ['example.mjs'])).toMatch(/^(?:costs 3\n)?[\s\S]*^succeeded 1$[\s\S]*^image\/png \d+ 3$/m)
  },
)

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
