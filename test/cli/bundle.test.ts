// The bundle that npm leaves after an install: of a small program that does all that a bundler may get wrong.
import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findBundle, makeBundle, toBundleFolder } from '../../bin/bundle.ts'

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
  for (const [path, text] of Object.entries(program)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  mkdirSync(join(root, 'node_modules/@mediagen'), { recursive: true })
  symlinkSync('../../packages/part', join(root, 'node_modules/@mediagen/part'))
  symlinkSync(join(repository, 'node_modules/commander'), join(root, 'node_modules/commander'))
})
afterEach(() => rmSync(root, { recursive: true }))

/** What the program says that begins with a file. */
async function run(url: string | null): Promise<unknown> {
  const code = `console.log(JSON.stringify(await (await import(${JSON.stringify(url)})).main()))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code])
  return JSON.parse(stdout)
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
  ['a module has another size', () => writeFileSync(join(root, 'src/late.ts'), `${late}\n`)],
  ['a module has another time', () => utimesSync(join(root, 'src/late.ts'), 1, 1)],
  ['a module is gone', () => rmSync(join(root, 'packages/part/part.ts'))],
  ['it was not finished', () => rmSync(join(toBundleFolder(root), 'sources.json'))],
  [
    'another version made it',
    () => writeFileSync(join(toBundleFolder(root), 'sources.json'), JSON.stringify({ root, files: [] })),
  ],
  ['its list is cut', () => writeFileSync(join(toBundleFolder(root), 'sources.json'), '{"root":')],
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

test('a bundle that is as it would be stays, because a server may be about to load from it', async () => {
  await makeBundle(root)
  const mark = join(toBundleFolder(root), 'mark')
  writeFileSync(mark, '')
  await makeBundle(root)
  expect(existsSync(mark)).toBe(true)
  writeFileSync(join(root, 'src/late.ts'), `${late}\n`)
  await makeBundle(root)
  expect(existsSync(mark)).toBe(false)
  expect(findBundle(root)).not.toBeNull()
})

test('an install without the bundler goes on without a word', async () => {
  expect(await prepare()).toEqual({ stdout: '', stderr: '' })
  expect(findBundle(root)).toBeNull()
})

test('an install goes on when the program cannot be bundled, and says why', async () => {
  symlinkSync(join(repository, 'packages/bundler'), join(root, 'node_modules/@mediagen/bundler'))
  writeFileSync(join(root, 'src/late.ts'), 'export const = 1')
  const { stdout, stderr } = await prepare()
  expect({ stdout, said: stderr.split(':')[0] }).toEqual({ stdout: '', said: 'mediagen was not bundled' })
  expect(stderr).toContain('late.ts')
  expect(findBundle(root)).toBeNull()
})
