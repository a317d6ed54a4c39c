// Packs mediagen as a tarball for npm: `npm run pack -- FOLDER`. Node strips no types under `node_modules`, so the tarball has
// JavaScript, a file for each of the source; the workspaces are in it, because nobody else uses them.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { transformSync } from 'esbuild'
import manifest from '../package.json' with { type: 'json' }
import builtin from '../packages/builtin/package.json' with { type: 'json' }

const root = join(import.meta.dirname, '..')
const own = ['bin', 'catalogs', 'gen', 'src', 'web', 'LICENSE', 'NOTICE', 'README.md', 'CHANGELOG.md']
const workspaces = ['client', 'engine', 'builtin']
const ofWorkspaces = ['src', 'catalog', 'samples', 'NOTICE']

// `import type` is left out, and every other import stays.
const options = {
  loader: 'ts',
  target: 'node24',
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
} as const

type Dependencies = Readonly<Record<string, string>>

/** Writes the tarball into a folder. @returns its path */
export function pack(folder: string): string {
  const stage = mkdtempSync(join(tmpdir(), 'mediagen-pack-'))
  try {
    for (const path of listFiles(own)) place(path, join(stage, path))
    writeFileSync(join(stage, 'package.json'), JSON.stringify(toManifest(), null, 2))
    for (const name of workspaces) {
      const from = join('packages', name)
      const to = join(stage, 'node_modules/@mediagen', name)
      for (const path of listFiles(ofWorkspaces.map((part) => join(from, part))))
        place(path, join(to, path.slice(from.length)))
      const { version, license } = manifest
      const described = {
        name: `@mediagen/${name}`,
        version,
        license,
        type: 'module',
        exports: { './*.js': './src/*.js' },
      }
      writeFileSync(join(to, 'package.json'), JSON.stringify(described, null, 2))
    }
    mkdirSync(folder, { recursive: true })
    const args = ['pack', '--silent', '--pack-destination', resolve(folder)]
    const [name = ''] = execFileSync('npm', args, { cwd: stage, encoding: 'utf8' }).trim().split('\n').slice(-1)
    return join(folder, name)
  } finally {
    rmSync(stage, { recursive: true })
  }
}

/** Files of the repository below these paths. */
function listFiles(paths: readonly string[]): string[] {
  return execFileSync('git', ['ls-files', '-z', '--', ...paths], { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter(Boolean)
}

function place(path: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  if (/\.(ts|js)$/.test(path) && !path.endsWith('.d.ts')) writeFileSync(to.replace(/\.ts$/, '.js'), toJavaScript(path))
  else cpSync(join(root, path), to)
}

/** The same code without types, in which names of modules end with `.js`. */
function toJavaScript(path: string): string {
  const code = readFileSync(join(root, path), 'utf8')
  return (path.endsWith('.ts') ? transformSync(code, options).code : code).replaceAll(/\.ts(?=['"`])/g, '.js')
}

function toManifest(): object {
  const { name, version, description, license, bin, type, engines } = manifest
  // It brings a Node to a clone; who installs a package has one.
  const { node: _, ...needed }: Dependencies = { ...builtin.dependencies, ...manifest.dependencies }
  const bundled = workspaces.map((one) => `@mediagen/${one}`)
  return {
    name,
    version,
    description,
    license,
    bin,
    type,
    engines,
    dependencies: { ...needed, ...Object.fromEntries(bundled.map((one) => [one, version])) },
    bundleDependencies: bundled,
  }
}

if (import.meta.main) process.stdout.write(`${pack(process.argv[2] ?? '.')}\n`)
