// The bundle that npm leaves after an install: of a small program that does all that a bundler may get wrong.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findBundle, makeBundle, toBundles } from '../../bin/bundle.ts'

const repository = join(import.meta.dirname, '../..')
const late = `export class Twice {}\nexport const where: string = import.meta.filename`
const program: Readonly<Record<string, string>> = {
  'package.json': `{ "type": "module", "version": "1.2.3" }`,
  'src/main.ts': `
    import manifest from '../package.json' with { type: 'json' }
    import { createRequire } from 'node:module'
    import { Command } from 'commander'
    import { part, Twice } from '@mediagen/part/part.ts'
    export async function main() {
      const late = await import('./late.ts')
      const { default: missing } = await import('not-installed').catch((error) => ({ default: error.code }))
      const same = createRequire(import.meta.url)('commander').Command === Command
      return { version: manifest.version, part, late: late.where, names: [Twice.name, late.Twice.name], missing, same, url: import.meta.url }
    }`,
  'src/late.ts': late,
  'packages/part/package.json': `{ "name": "@mediagen/part", "type": "module" }`,
  'packages/part/part.ts': `
    export class Twice {}
    export const part: string = import.meta.dirname`,
}
let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'mediagen-bundle-'))
  for (const [path, text] of Object.entries(program)) write(path, text)
  mkdirSync(join(root, 'node_modules/@mediagen'), { recursive: true })
  symlinkSync('../../packages/part', join(root, 'node_modules/@mediagen/part'))
  symlinkSync(join(repository, 'node_modules/commander'), join(root, 'node_modules/commander'))
})
afterEach(() => rmSync(root, { recursive: true }))

/** Writes a file of the program, some time ago. */
function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
  utimesSync(join(root, path), 1_700_000_000, 1_700_000_000)
}

const listOf = () => join(toBundles(root), 'sources.json')

/** What the program says that begins with a file. */
async function run(url: string | null, ...flags: string[]): Promise<unknown> {
  const code = `console.log(JSON.stringify(await (await import(${JSON.stringify(url)})).main()))`
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, '--input-type=module', '--eval', code])
  return JSON.parse(stdout)
}

/** Starts the program, which then waits before it loads the rest of itself. */
async function startProgram(url: string | null) {
  const code = `
    const { main } = await import(${JSON.stringify(url)})
    process.send('ready')
    process.once('message', async () => process.send(await main(), () => process.disconnect()))`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  await once(child, 'message')
  return {
    async goOn(): Promise<unknown> {
      child.send('go on')
      const [said] = await once(child, 'message')
      return said
    },
  }
}

/** Runs what npm runs after an install. */
function prepare() {
  cpSync(join(repository, 'bin'), join(root, 'bin'), { recursive: true })
  return promisify(execFile)(process.execPath, [join(root, 'bin/prepare.js')])
}

test('a bundle does what the modules do, and knows where they were', async () => {
  await makeBundle(root)
  const said = await run(findBundle(root))
  expect(said).toEqual(await run(pathToFileURL(join(root, 'src/main.ts')).href))
  expect(said).toEqual({
    version: '1.2.3',
    part: join(root, 'packages/part'),
    late: join(root, 'src/late.ts'),
    names: ['Twice', 'Twice'],
    missing: 'ERR_MODULE_NOT_FOUND',
    same: true,
    url: pathToFileURL(join(root, 'src/main.ts')).href,
  })
})

test.for<[string, () => void]>([
  ['a module has another size', () => write('src/late.ts', `${late}\n`)],
  ['a module has another time', () => utimesSync(join(root, 'src/late.ts'), 1, 1)],
  ['a module is gone', () => rmSync(join(root, 'packages/part/part.ts'))],
  ['npm has installed something', () => write('node_modules/.package-lock.json', '{}')],
  ['the bundle is gone', () => rmSync(fileURLToPath(findBundle(root) ?? ''))],
  ['there is no list of its files', () => rmSync(listOf())],
  ['another version made it', () => writeFileSync(listOf(), JSON.stringify({ root, modules: [] }))],
  ['the list is cut', () => writeFileSync(listOf(), '{"root":')],
])('the modules run when %s', async ([, change]) => {
  await makeBundle(root)
  expect(findBundle(root)).not.toBeNull()
  change()
  expect(findBundle(root)).toBeNull()
})

test('the modules run when all was moved', async () => {
  await makeBundle(root)
  const moved = `${root}-moved`
  renameSync(root, moved)
  expect(findBundle(moved)).toBeNull()
  // The old place is as it was: the bundle of the copy has its paths.
  cpSync(moved, root, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
  expect(findBundle(moved)).toBeNull()
  rmSync(moved, { recursive: true })
})

test('an install bundles the program', async () => {
  symlinkSync(join(repository, 'packages/bundler'), join(root, 'node_modules/@mediagen/bundler'))
  expect(await prepare()).toEqual({ stdout: '', stderr: '' })
  expect(await run(findBundle(root))).toMatchObject({ version: '1.2.3' })
})

test('a bundle is made once, and one that a server still loads from stays when another is made', async () => {
  await makeBundle(root)
  const first = findBundle(root)
  const server = await startProgram(first)
  await makeBundle(root)
  expect(findBundle(root)).toBe(first)
  write('src/late.ts', `${late} + '.changed'`)
  await makeBundle(root)
  expect(await run(findBundle(root))).toMatchObject({ late: `${join(root, 'src/late.ts')}.changed` })
  expect(await server.goOn()).toMatchObject({ late: join(root, 'src/late.ts') })
})

test('every user may run a bundle, as every user may run the modules', async () => {
  await makeBundle(root)
  const files = readdirSync(toBundles(root), { recursive: true, withFileTypes: true })
  const closed = files.filter((file) => {
    const { mode } = statSync(join(file.parentPath, file.name))
    return (mode & (file.isDirectory() ? 0o5 : 0o4)) === 0
  })
  expect(closed.map(({ name }) => name)).toEqual([])
})

test('the oldest bundles go', async () => {
  for (const size of [1, 2, 3, 4, 5, 6]) {
    write('src/late.ts', late + '\n'.repeat(size))
    await makeBundle(root)
  }
  expect(readdirSync(toBundles(root)).filter((name) => name !== 'sources.json')).toHaveLength(4)
  expect(await run(findBundle(root))).toMatchObject({ version: '1.2.3' })
})

test('a module that is changed while it is bundled makes no bundle', async () => {
  const now = Date.now() / 1000 + 60
  utimesSync(join(root, 'src/late.ts'), now, now)
  await expect(makeBundle(root)).rejects.toThrow(/late\.ts was changed meanwhile/)
  expect(findBundle(root)).toBeNull()
})

test('a bundle runs in a Node that guesses no format', async () => {
  await makeBundle(root)
  expect(await run(findBundle(root), '--no-experimental-detect-module')).toMatchObject({ version: '1.2.3' })
})

test('an install without the bundler goes on without a word', async () => {
  expect(await prepare()).toEqual({ stdout: '', stderr: '' })
  expect(findBundle(root)).toBeNull()
})

test('an install goes on when the program cannot be bundled, and says why', async () => {
  symlinkSync(join(repository, 'packages/bundler'), join(root, 'node_modules/@mediagen/bundler'))
  write('src/late.ts', 'export const = 1')
  const { stdout, stderr } = await prepare()
  expect({ stdout, said: stderr.split(':')[0] }).toEqual({ stdout: '', said: 'mediagen was not bundled' })
  expect(stderr).toContain('late.ts')
  expect(findBundle(root)).toBeNull()
})
