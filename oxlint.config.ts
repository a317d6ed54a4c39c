// The linter: general rules, and which part of the repository may import which. The table of ARCHITECTURE.md says the
// same in words; test/lint.long.test.ts plants a violation of every row.
import { defineConfig, type OxlintOverride } from 'oxlint'

const wire = ['@connectrpc/**', '@grpc/**', '@bufbuild/protobuf', '@bufbuild/protobuf/**', 'fastify']
const engine = '@mediagen/engine'
const net = '@mediagen/net'
const openapi = '@mediagen/openapi'
const media = '@mediagen/media'
const blobs = '@mediagen/blobs'
const catalog = '@mediagen/catalog'
const backends = '@mediagen/backends'
const client = '@mediagen/client'
const mcp = '@mediagen/mcp'
const pages = '@mediagen/pages'
const core = '@mediagen/core'
const storage = '@mediagen/storage'
const terminal = '@mediagen/terminal'
// No part has folders deeper than this.
const mostDeep = 6

interface Part {
  /** Folders and files of `src/` that it may import beside itself; `gen` and the packages of ours by their names. */
  readonly imports: readonly string[]
  /** Packages of others that it may not import, as patterns, with exceptions. */
  readonly not?: readonly string[]
}

/** Who may import whom, in `src/`. test/docs.test.ts holds the table of ARCHITECTURE.md against it. */
export const parts: Readonly<Record<string, Part>> = {
  services: {
    imports: [core, catalog, 'gen', engine, net, 'runtime'],
    not: ['fastify', '@grpc/**', 'better-sqlite3', 'node:fs', 'node:fs/**'],
  },
  rpc: { imports: [core, 'gen', engine, net, 'services', 'runtime'], not: ['better-sqlite3'] },
  gateway: {
    imports: [core, 'gen', blobs, engine, net, openapi, pages, 'runtime'],
    not: ['@grpc/**', 'better-sqlite3', '@connectrpc/connect-node'],
  },
  runner: { imports: [core, catalog, engine, media, 'runtime'], not: wire },
  feed: { imports: [core, 'runtime'], not: wire },
  runtime: { imports: [core, net], not: wire },
  assets: { imports: [core, engine, blobs, media, 'runtime'], not: wire },
  media: { imports: [core, engine, blobs, media], not: wire },
  webhooks: { imports: [core, net, 'runtime'], not: wire },
  catalog: { imports: [core, catalog, engine, 'runtime'], not: wire },
  // The composition root; nothing but the command line imports it.
  app: {
    imports: [
      'assets',
      catalog,
      'catalog',
      core,
      'feed',
      'gateway',
      'media',
      net,
      'rpc',
      'runner',
      'runtime',
      'services',
      storage,
      'webhooks',
      'config.ts',
      'gen',
      engine,
      blobs,
      media,
      backends,
    ],
  },
  cli: { imports: ['app', backends, client, 'config.ts', core, 'gateway', 'gen', 'services', terminal] },
}

/** The files of `src/` itself. */
const files: Readonly<Record<string, Part>> = {
  'main.ts': { imports: ['cli', core, terminal, 'package.json'] },
  'config.ts': { imports: [core, engine, net, blobs, 'limits.ts', 'setting.ts'] },
  'limits.ts': { imports: ['setting.ts', 'media-limits.ts'] },
  'media-limits.ts': { imports: ['setting.ts'] },
  'setting.ts': { imports: [] },
}

/** The packages and the console: what they may import of ours. */
const folders: Readonly<Record<string, Part>> = {
  'packages/engine': { imports: [] },
  'packages/net': { imports: [engine] },
  'packages/openapi': { imports: [] },
  'packages/media': { imports: [engine, net] },
  'packages/blobs': { imports: [engine] },
  'packages/catalog': { imports: [engine, media, net] },
  'packages/client': { imports: [] },
  'packages/terminal': { imports: [client, core, mcp] },
  'packages/mcp': { imports: [client, engine, net] },
  'packages/pages': { imports: [engine] },
  'packages/backends': { imports: [engine, net] },
  'packages/builtin': { imports: [engine] },
  // Rules alone: no I/O, no wire.
  'packages/core/src': {
    imports: [engine, catalog],
    not: ['node:*', 'node:*/**', '!node:crypto', ...wire, 'better-sqlite3'],
  },
  'packages/storage': { imports: [core, catalog, engine], not: wire },
  'packages/core/test': { imports: [core, engine, catalog, net] },
  web: { imports: [client] },
}

/**
 * A rule that lets nothing of ours be imported but what a part names.
 * @param up from the file to the folder of all parts; a specifier that begins so leaves the part
 */
function restrict(name: string, up: string, { imports, not = [] }: Part): NonNullable<OxlintOverride['rules']> {
  const allowed = imports.map((one) => {
    if (one.startsWith('@')) return `!${one}/**`
    if (one === 'package.json') return '!../package.json'
    if (one === 'gen') return up === './' ? '!../gen/**' : `!${up}../gen/**`
    return one.endsWith('.ts') ? `!${up}${one}` : `!${up}${one}/**`
  })
  const message = `${name} imports ${imports.length === 0 ? 'nothing else of ours' : `only ${imports.join(', ')}`}.`
  const others = `${name} may not import this package; oxlint.config.ts has the list.`
  const patterns = [
    { group: [`${up}**`, '@mediagen/**', ...(up === './' ? ['../**'] : []), ...allowed], message },
    ...(not.length > 0 ? [{ group: [...not], message: others }] : []),
  ]
  return { 'no-restricted-imports': ['error', { patterns }] }
}

/** The rule for a folder or file of `src/` that the tables above do not have. */
const withoutRow: NonNullable<OxlintOverride['rules']> = {
  'no-restricted-imports': [
    'error',
    { patterns: [{ group: ['./**', '../**', '@mediagen/**'], message: 'This needs a row in oxlint.config.ts.' }] },
  ],
}

/** The rule for a folder and those in it, however deep: a specifier that leaves it begins with a `../` for each of them. */
function restrictFolder(folder: string, part: Part): OxlintOverride[] {
  return Array.from({ length: mostDeep }, (_, depth) => ({
    files: [`${folder}/${'*/'.repeat(depth)}*.ts`],
    rules: restrict(folder, '../'.repeat(depth + 1), part),
  }))
}

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'oxc', 'import', 'node'],
  categories: { correctness: 'error', suspicious: 'error', perf: 'error' },
  options: { typeAware: true, denyWarnings: true },
  ignorePatterns: ['gen/**'],
  rules: {
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/consistent-type-imports': 'error',
    'typescript/switch-exhaustiveness-check': 'error',
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'import/no-default-export': 'error',
    'unicorn/filename-case': ['error', { case: 'kebabCase' }],
    'eslint/max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
    'eslint/max-lines-per-function': ['error', { max: 120, skipBlankLines: true, skipComments: true }],
    'node/no-process-env': 'error',
    'oxc/no-map-spread': 'off',
    'oxc/no-async-endpoint-handlers': 'off',
    'unicorn/require-post-message-target-origin': 'off',
    'typescript/consistent-return': 'off',
    'typescript/unbound-method': 'off',
    'typescript/no-misused-spread': 'off',
    'typescript/no-base-to-string': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'eslint/no-await-in-loop': 'off',
    'eslint/no-shadow': 'off',
    'eslint/no-underscore-dangle': 'off',
    'typescript/no-unsafe-type-assertion': 'off',
    'unicorn/no-array-sort': 'off',
    'unicorn/prefer-add-event-listener': 'off',
  },
  overrides: [
    // What has no row of its own imports nothing of ours.
    { files: ['src/**/*.ts'], rules: withoutRow },
    ...Object.entries(parts).flatMap(([name, part]) => restrictFolder(`src/${name}`, part)),
    ...Object.entries(files).map(([name, part]) => ({
      files: [`src/${name}`],
      rules: restrict(`src/${name}`, './', part),
    })),
    // The files that know the packages of a full install.
    {
      files: ['src/app/builtin.ts'],
      rules: restrict('src/app/builtin.ts', '../', { imports: ['@mediagen/builtin', engine] }),
    },
    {
      files: ['src/app/mcp.ts'],
      rules: restrict('src/app/mcp.ts', '../', { imports: [mcp] }),
    },
    ...Object.entries(folders).flatMap(([name, part]) => restrictFolder(name, part)),
    {
      files: [
        'src/cli/**',
        'packages/terminal/**',
        'src/app/models.ts',
        'src/app/operator-engines.ts',
        'test/**',
        'packages/*/test/**',
        'bench/**',
        'bin/**',
        'vitest.config.ts',
      ],
      rules: { 'node/no-process-env': 'off' },
    },
    {
      files: ['test/**', 'packages/*/test/**', 'bench/**', 'packages/*/bench/**'],
      rules: {
        'typescript/no-explicit-any': 'off',
        'typescript/no-unsafe-member-access': 'off',
        'eslint/max-lines-per-function': 'off',
      },
    },
    { files: ['*.config.ts'], rules: { 'import/no-default-export': 'off' } },
  ],
})
