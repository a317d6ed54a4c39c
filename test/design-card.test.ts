// The libraries that the service was ordered with: each is used, not only installed.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import manifest from '../package.json' with { type: 'json' }

const root = join(import.meta.dirname, '..')
const ofTheService = [
  '@bufbuild/protobuf',
  '@connectrpc/connect',
  '@connectrpc/connect-fastify',
  '@connectrpc/connect-node',
  '@grpc/grpc-js',
  'better-sqlite3',
  'fastify',
]

/** Whether one of some files imports more than types of a package, or of a module in it. */
function isImported(name: string, ...globs: string[]): boolean {
  const pattern = new RegExp(`^(?:import (?!type )[^']*|export [^']*from |.*\\bimport\\()'${name}(?:/[^']*)?'`, 'm')
  return globSync(globs, { cwd: root }).some((file) => pattern.test(readFileSync(join(root, file), 'utf8')))
}

test.each(ofTheService)('the service imports %s', (name) => {
  expect(isImported(name, 'src/**/*.ts')).toBe(true)
  expect(manifest.dependencies).toHaveProperty([name])
})

test('the tests import vitest', () => {
  expect(isImported('vitest', 'test/**/*.test.ts')).toBe(true)
  expect(manifest.devDependencies).toHaveProperty('vitest')
})

test('a package that nobody imports, or only for its types, is found out', () => {
  expect(isImported('not-installed', 'src/**/*.ts')).toBe(false)
  expect(isImported('fastify', 'src/gateway/console.ts')).toBe(false)
})
