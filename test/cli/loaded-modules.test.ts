// What a server has loaded when it is ready: modules are half of a start, in time and memory.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { findBundle, toBundles } from '../../bin/bundle.ts'
import { openCommandLine } from './command-line.ts'

// What is loaded with its first use.
const later = [
  // Node's fetch, which an import of node:http loads as well.
  'internal/deps/undici/undici',
  'node_modules/undici/',
  'node_modules/@bufbuild/cel/',
  'node_modules/@bufbuild/re2/',
  'node_modules/@connectrpc/connect-node/',
  'node_modules/@fastify/ajv-compiler/',
  'node_modules/@fastify/busboy/',
  'node_modules/ajv/',
  'node_modules/ajv-formats/',
  'node_modules/@fastify/fast-json-stringify-compiler/',
  'packages/net/src/http/connect-calls.ts',
  'node_modules/prom-client/index.js',
  'node_modules/grpc-health-check/',
  'node_modules/@grpc/reflection/',
  'node_modules/@grpc/proto-loader/',
  'node_modules/protobufjs/',
  'node_modules/@opentelemetry/',
  'node_modules/@ai-sdk/',
  'node_modules/@modelcontextprotocol/',
  'node_modules/zod/',
  'node_modules/sharp/',
  'node_modules/mediabunny/',
  'packages/media/src/probe/',
  'packages/backends/src/remote/',
  'packages/backends/src/command/',
  'src/app/gateway.ts',
  // Other commands than serve, and what only they need.
  'src/cli/demo.ts',
  'src/app/move.ts',
  'packages/client/',
]

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What a loaded file was made of: the modules of a file of the bundle, or itself. */
function toModules(url: string): string[] {
  const path = url.startsWith('file:') ? `${fileURLToPath(url)}.map` : ''
  if (!path.startsWith(toBundles(root)) || !existsSync(path)) return [url]
  const { sources } = JSON.parse(readFileSync(path, 'utf8')) as { sources: string[] }
  return sources.map((source) => new URL(source, url).href)
}

test('a server without calls has not loaded the modules that only some calls need', async () => {
  await using line = openCommandLine()
  const list = join(line.folder, 'loaded.json')
  // Where npm has made no bundle, or somebody has changed a module since, it is the modules that run.
  const bundle = findBundle(root)
  const server = await line.serve({
    MEDIAGEN_CATALOG: '',
    NODE_OPTIONS: `--import ${new URL('loaded-modules.mjs', import.meta.url).href}`,
    LOADED_MODULES: list,
  })
  await server.stop()
  const urls = JSON.parse(readFileSync(list, 'utf8')) as string[]
  expect(urls.includes(bundle ?? pathToFileURL(join(root, 'src/main.ts')).href)).toBe(true)
  const loaded = urls.flatMap(toModules)
  expect(loaded.some((name) => name.endsWith('/src/app/core.ts'))).toBe(true)
  expect(later.filter((name) => loaded.some((url) => url.includes(name)))).toEqual([])
})
