// The linter holds every part of the repository to what it may import, however deep a file lies: violations are planted
// in a copy of its configuration's folder, and each has to be found.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mediagen-lint-'))
  copyFileSync(join(root, 'oxlint.config.ts'), join(folder, 'oxlint.config.ts'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Planted {
  readonly file: string
  readonly code: string
}

interface Diagnostic {
  readonly code: string
  readonly filename: string
  readonly help?: string
}

/** What one rule finds in planted files: its advice, by file. */
function lint(rule: string, planted: readonly Planted[]): Readonly<Record<string, string>> {
  for (const name of ['src', 'packages', 'web']) rmSync(join(folder, name), { recursive: true, force: true })
  for (const { file, code } of planted) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), code)
  }
  const command = [join(root, 'node_modules/oxlint/bin/oxlint'), '-f', 'json', ...planted.map(({ file }) => file)]
  let text: string
  try {
    text = execFileSync(process.execPath, command, { cwd: folder, encoding: 'utf8' })
  } catch (error) {
    // Exit status 1: something was found.
    text = (error as { stdout: string }).stdout
  }
  const { diagnostics } = JSON.parse(text) as { diagnostics: readonly Diagnostic[] }
  return Object.fromEntries(
    diagnostics.filter(({ code }) => code === rule).map(({ filename, help }) => [filename, help ?? '']),
  )
}

const restricted = 'eslint(no-restricted-imports)'

/** A file that imports a module, and what else could go past a rule about imports. */
function plant(file: string, specifier: string): Planted {
  return { file, code: `import { planted } from '${specifier}'\nexport const kept = planted\n` }
}

test('every folder and file of src/ and every package has a row: none may import what only the program may', () => {
  const planted = readdirSync(join(root, 'src'), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? ['', 'a/', 'a/b/', 'a/b/c/'].map((inside) =>
          plant(`src/${entry.name}/${inside}planted.ts`, `${'../'.repeat(inside.length / 2 + 1)}main.ts`),
        )
      : [plant(`src/${entry.name}`, entry.name === 'main.ts' ? './app/start.ts' : './main.ts')],
  )
  for (const inside of ['src', 'test', 'src/a', 'src/a/b/c'])
    for (const name of readdirSync(join(root, 'packages')))
      planted.push(
        plant(`packages/${name}/${inside}/planted.ts`, `${'../'.repeat(inside.split('/').length + 2)}src/config.ts`),
      )
  planted.push(plant('web/planted.ts', '../src/config.ts'), plant('web/admin/planted.ts', '../../src/config.ts'))
  const found = lint(restricted, planted)
  expect(Object.keys(found).toSorted()).toEqual(planted.map(({ file }) => file).toSorted())
  for (const [file, advice] of Object.entries(found)) expect(advice, file).toMatch(/ imports (only|nothing)/)
})

test.each([
  ['src/core/jobs/planted.ts', '../../config.ts', /^src\/core imports only @mediagen\/engine\./],
  ['src/core/planted.ts', '../../gen/mediagen/v1/admin_pb.ts', /^src\/core imports only/],
  ['src/core/planted.ts', 'node:fs/promises', /^src\/core may not import this package/],
  ['src/core/planted.ts', '@connectrpc/connect', /^src\/core may not/],
  ['src/schema/planted.ts', '../catalog/model.ts', /imports only @mediagen\/engine, core\./],
  ['src/services/planted.ts', '../storage/sqlite/open.ts', /imports only @mediagen\/engine, catalog, core, gen/],
  ['src/services/planted.ts', 'node:fs/promises', /may not/],
  ['src/rpc/planted.ts', '../gateway/server.ts', /imports only @mediagen\/engine, core, gen/],
  ['src/gateway/routes/planted.ts', '../../services/admin.ts', /imports only @mediagen\/engine, core, files, gen/],
  ['src/gateway/planted.ts', '../storage/sqlite/open.ts', /imports only @mediagen\/engine, core, files, gen/],
  ['src/storage/sqlite/planted.ts', '../../services/convert.ts', /imports only @mediagen\/engine, core/],
  ['src/storage/sqlite/planted.ts', '../../../gen/mediagen/v1/admin_pb.ts', /imports only @mediagen\/engine/],
  ['src/runner/planted.ts', '../outgoing/hosts.ts', /imports only @mediagen\/engine, catalog, core, files/],
  ['src/files/a/planted.ts', '../../runner/runner.ts', /imports only @mediagen\/engine, core, outgoing/],
  ['src/files/a/planted.ts', '@grpc/grpc-js', /may not/],
  ['src/webhooks/planted.ts', '../runner/runner.ts', /imports only core, outgoing/],
  ['src/sign-in/planted.ts', '../services/account.ts', /imports only core/],
  ['src/sign-in/planted.ts', 'fastify', /may not/],
  ['src/outgoing/planted.ts', '../core/jobs/job.ts', /imports only @mediagen\/engine/],
  ['src/guards/planted.ts', '../services/convert.ts', /imports only core, outgoing, schema/],
  ['src/mcp/planted.ts', '../services/convert.ts', /imports only @mediagen\/client/],
  ['src/catalog/planted.ts', '../storage/sqlite/open.ts', /imports only @mediagen\/engine, core/],
  ['src/cli/user/planted.ts', '../../storage/sqlite/open.ts', /imports only @mediagen\/client, app/],
  ['src/config.ts', './storage/sqlite/open.ts', /imports only @mediagen\/engine, core/],
  ['src/limits.ts', './config.ts', /imports only setting\.ts/],
  ['src/media-limits.ts', './limits.ts', /imports only setting\.ts/],
  ['src/trace-settings.ts', './limits.ts', /imports only setting\.ts/],
  ['src/sign-in-settings.ts', './config.ts', /imports only core, outgoing, setting\.ts/],
  ['src/app/planted.ts', '../cli/serve.ts', /imports only/],
  ['src/app/planted.ts', '@mediagen/builtin/engine.ts', /imports only/],
  ['src/app/builtin.ts', '../../packages/builtin/src/engine.ts', /imports only/],
  ['src/engines/planted.ts', '@mediagen/builtin/engine.ts', /imports only @mediagen\/engine, outgoing/],
  ['src/engines/remote/planted.ts', '../../core/jobs/job.ts', /imports only @mediagen\/engine, outgoing/],
  ['packages/engine/src/planted.ts', '@mediagen/builtin/engine.ts', /imports nothing else of ours/],
  ['packages/builtin/src/music/score/planted.ts', '../../../../../src/config.ts', /imports only @mediagen\/engine/],
  ['packages/builtin/gallery/planted.ts', '../../engine/src/pool.ts', /imports only @mediagen\/engine/],
])('%s may not import %s', (file, specifier, advice) => {
  expect(lint(restricted, [plant(file, specifier)])).toEqual({ [file]: expect.stringMatching(advice) })
})

test('a new folder or file of src/ imports nothing before it has a row', () => {
  const planted = [plant('src/novel.ts', './app/start.ts'), plant('src/novel/a/planted.ts', '../own.ts')]
  const advice = 'This needs a row in oxlint.config.ts.'
  expect(lint(restricted, planted)).toEqual({ [planted[0]!.file]: advice, [planted[1]!.file]: advice })
})

test('an import is found however it is written', () => {
  const specifier = '../storage/sqlite/open.ts'
  const ways = [
    `import type { planted } from '${specifier}'\nexport type Kept = planted\n`,
    `export { planted } from '${specifier}'\n`,
    `export * from '${specifier}'\n`,
    `export const later = () => import('${specifier}')\n`,
  ].map((code, index) => ({ file: `src/feed/way-${index}.ts`, code }))
  expect(Object.keys(lint(restricted, ways))).toHaveLength(ways.length)
})

test('circles are found, across folders, too', () => {
  const planted = [
    plant('src/feed/one.ts', './two.ts'),
    plant('src/feed/two.ts', './three/three.ts'),
    plant('src/feed/three/three.ts', '../one.ts'),
  ]
  expect(Object.keys(lint('import(no-cycle)', planted))).toHaveLength(planted.length)
})

test('what a part may import is let pass', () => {
  const planted = [
    plant('src/core/a/own.ts', '../own.ts'),
    plant('src/core/port.ts', '@mediagen/engine/engine.ts'),
    plant('src/core/hash.ts', 'node:crypto'),
    plant('src/storage/sqlite/record.ts', '../../core/jobs/job.ts'),
    plant('src/services/message.ts', '../../gen/mediagen/v1/admin_pb.ts'),
    plant('src/webhooks/host.ts', '../outgoing/hosts.ts'),
    plant('src/mcp/name.ts', '../../package.json'),
    plant('src/app/planted.ts', '../runner/runner.ts'),
    plant('src/app/builtin.ts', '@mediagen/builtin/engine.ts'),
    plant('src/cli/serve.ts', '../app/start.ts'),
    plant('packages/builtin/src/art/styles/ink.ts', '@mediagen/engine/media.ts'),
    plant('packages/builtin/test/art.test.ts', '../src/art/art.ts'),
  ]
  expect(lint(restricted, planted)).toEqual({})
})
