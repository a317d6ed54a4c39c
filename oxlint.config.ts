// The linter: general rules, and which part of the repository may import which. The table of ARCHITECTURE.md says the
// same in words; test/lint.long.test.ts plants a violation of every row.
import { defineConfig, type OxlintOverride } from 'oxlint'

const wire = ['@connectrpc/**', '@grpc/**', '@bufbuild/protobuf', '@bufbuild/protobuf/**', 'fastify']
const builtin = '@mediagen/builtin'
const client = '@mediagen/client'
const engine = '@mediagen/engine'
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
  // Rules alone: no I/O, no wire.
  core: { imports: [engine], not: ['node:*', 'node:*/**', '!node:crypto', ...wire, 'better-sqlite3'] },
  schema: { imports: [engine, 'core'], not: wire },
  catalog: { imports: [engine, 'core', 'files', 'schema'], not: wire },
  engines: { imports: [engine, 'outgoing'], not: wire },
  storage: { imports: [engine, 'core'], not: wire },
  files: { imports: [engine, 'core', 'outgoing'], not: wire },
  outgoing: { imports: [engine], not: wire },
  guards: { imports: ['core', 'outgoing', 'schema'], not: ['@grpc/**', 'better-sqlite3'] },
  services: {
    imports: [engine, 'catalog', 'core', 'gen', 'guards', 'schema'],
    not: ['fastify', '@grpc/**', 'better-sqlite3', 'node:fs', 'node:fs/**'],
  },
  rpc: {
    imports: [engine, 'core', 'gen', 'guards', 'schema', 'services', 'node-internals.ts'],
    not: ['better-sqlite3'],
  },
  gateway: {
    imports: [engine, 'core', 'files', 'gen', 'guards', 'schema'],
    not: ['@grpc/**', 'better-sqlite3', '@connectrpc/connect-node'],
  },
  openai: {
    imports: [engine, 'core', 'files', 'gateway', 'gen', 'guards', 'schema'],
    not: ['@grpc/**', 'better-sqlite3', '@connectrpc/connect-node'],
  },
  mcp: { imports: [client, engine, 'core', 'guards', 'package.json'], not: ['@grpc/**', 'better-sqlite3'] },
  runner: { imports: [engine, 'catalog', 'core', 'files'], not: wire },
  feed: { imports: ['core'], not: wire },
  webhooks: { imports: ['core', 'outgoing'], not: wire },
  'sign-in': { imports: ['core'], not: wire },
  // The composition root; nothing but the command line imports it.
  app: {
    imports: [
      engine,
      'catalog',
      'config.ts',
      'core',
      'engines',
      'feed',
      'files',
      'gateway',
      'gen',
      'guards',
      'mcp',
      'openai',
      'outgoing',
      'rpc',
      'runner',
      'services',
      'sign-in',
      'storage',
      'webhooks',
    ],
  },
  cli: { imports: [client, 'app', 'config.ts', 'core', 'engines', 'gateway', 'gen', 'mcp', 'services', 'webhooks'] },
}

/** The files of `src/` itself. */
const files: Readonly<Record<string, Part>> = {
  'main.ts': { imports: ['cli', 'core', 'package.json'] },
  'config.ts': {
    imports: [
      engine,
      'core',
      'files',
      'guards',
      'outgoing',
      'limits.ts',
      'setting-parsers.ts',
      'setting.ts',
      'sign-in-settings.ts',
      'trace-settings.ts',
    ],
  },
  'limits.ts': { imports: ['setting.ts', 'media-limits.ts'] },
  'media-limits.ts': { imports: ['setting.ts'] },
  'setting-parsers.ts': { imports: ['core'] },
  'setting.ts': { imports: [] },
  'trace-settings.ts': { imports: ['setting.ts'] },
  'sign-in-settings.ts': { imports: ['core', 'outgoing', 'setting.ts'] },
  'node-internals.ts': { imports: [] },
}

/** The packages and the console: what they may import of ours. */
const folders: Readonly<Record<string, Part>> = {
  'packages/engine': { imports: [] },
  'packages/builtin': { imports: [engine] },
  'packages/client': { imports: [] },
  'packages/ai-sdk': { imports: [client] },
  web: { imports: [client, 'gen'] },
}

/**
 * A rule that lets nothing of ours be imported but what a part names.
 * @param up from the file to the folder of all parts; a specifier that begins so leaves the part
 */
function restrict(name: string, up: string, { imports, not = [] }: Part): NonNullable<OxlintOverride['rules']> {
  const allowed = imports.map((one) => {
    if (one.startsWith('@')) return `!${one}/**`
    // They lie beside `src/`.
    const out = up === './' ? '../' : name === 'web' ? up : `${up}../`
    if (one === 'package.json') return `!${out}package.json`
    if (one === 'gen') return `!${out}gen/**`
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
  // Generated.
  ignorePatterns: ['gen/**', 'packages/client/src/openapi.ts'],
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
    // The file that knows the package of the built-in models.
    {
      files: ['src/app/builtin.ts'],
      rules: restrict('src/app/builtin.ts', '../', { imports: [builtin, engine] }),
    },
    ...Object.entries(folders).flatMap(([name, part]) => restrictFolder(name, part)),
    {
      files: [
        'src/cli/**',
        'src/app/models.ts',
        'src/app/operator/operator-engines.ts',
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
