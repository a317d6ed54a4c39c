// Code that Node compiled once is kept where only this user can write: never in a temporary folder that another user can make first.
import { execFile } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findCompileCache } from '../../bin/compile-cache.js'

const program = join(import.meta.dirname, '../../bin/mediagen.js')
const isRoot = process.getuid?.() === 0
const cacheOf = (root: string): string => join(root, 'node_modules/.cache/mediagen/compile')
let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'mediagen-compiled-'))
  mkdirSync(join(root, 'node_modules'))
})
afterEach(() => rmSync(root, { recursive: true }))

test('it is a folder of the installation that nobody else can write to', () => {
  expect(findCompileCache(root)).toBe(cacheOf(root))
  expect(statSync(cacheOf(root)).mode & 0o777).toBe(0o700)
  expect(findCompileCache(root), 'again').toBe(cacheOf(root))
})

test.each([
  ['the folder itself', '.cache/mediagen/compile', 0o777],
  ['a folder above, by everybody', '.cache', 0o707],
  ['a folder above, by its group', '.cache/mediagen', 0o775],
  ['node_modules', '.', 0o777],
  ['the installation', '..', 0o777],
])('nothing is kept where others can write: %s', (_, path, mode) => {
  mkdirSync(cacheOf(root), { recursive: true })
  chmodSync(join(root, 'node_modules', path), mode)
  expect(findCompileCache(root)).toBeNull()
})

test('nothing is kept where the folder leads elsewhere', () => {
  mkdirSync(join(root, 'elsewhere'))
  mkdirSync(join(root, 'node_modules/.cache/mediagen'), { recursive: true })
  symlinkSync(join(root, 'elsewhere'), cacheOf(root))
  expect(findCompileCache(root)).toBeNull()
})

test.skipIf(!isRoot)('nothing is kept, and nothing made, in an installation of another user', () => {
  chownSync(join(root, 'node_modules'), 12_345, 12_345)
  expect(findCompileCache(root)).toBeNull()
  expect(existsSync(join(root, 'node_modules/.cache'))).toBe(false)
  chownSync(join(root, 'node_modules'), 0, 0)
  mkdirSync(cacheOf(root), { recursive: true, mode: 0o700 })
  chownSync(cacheOf(root), 12_345, 12_345)
  expect(findCompileCache(root)).toBeNull()
})

test('a command takes nothing from a temporary folder, and leaves nothing there', async () => {
  const temporary = join(root, 'tmp')
  mkdirSync(temporary)
  const env = { PATH: process.env['PATH'], TMPDIR: temporary }
  await promisify(execFile)(process.execPath, [program, '--version'], { env })
  expect(readdirSync(temporary)).toEqual([])
})
