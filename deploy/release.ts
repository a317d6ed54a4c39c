// Makes a release: `npm run release -- --set 0.2.0` writes the version, `npm run release` checks, packs and tags it. It publishes
// and pushes nothing, and prints the commands that do. `--dry-run` names what is missing, packs, and tags nothing.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { parseArgs } from 'node:util'
import manifest from '../package.json' with { type: 'json' }
import { buildWheel, packClient } from './pack-clients.ts'
import { pack } from './pack.ts'
import { readVersions, writeVersion } from './versions.ts'

const root = join(import.meta.dirname, '..')
const semantic = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/
const checks = [
  ['npm', 'run', 'check'],
  ['npm', 'test'],
  ['npx', 'vitest', 'run', '--project', 'long', 'test/packed'],
] as const satisfies readonly (readonly [string, ...string[]])[]

/** What is looked at before a release. */
export interface ReleaseState {
  readonly version: string
  readonly versions: ReadonlyMap<string, readonly string[]>
  readonly changelog: string
  /** What `git status --porcelain` prints. */
  readonly changes: string
  readonly tags: readonly string[]
  /** Whether `proto/released.binpb` is the interface of now. */
  readonly protoIsReleased: boolean
}

/** What stands in the way of a release, a sentence each. */
export function findProblems(state: ReleaseState): readonly string[] {
  const { version, versions, changelog, changes, tags, protoIsReleased } = state
  const problems: string[] = []
  if (!semantic.test(version)) problems.push(`${version} is not a semantic version.`)
  for (const [path, said] of versions) {
    const others = said.filter((one) => one !== version)
    if (others.length > 0) problems.push(`${path} says ${others[0]}; npm run release -- --set ${version} mends it.`)
    if (said.length === 0) problems.push(`${path} says no version.`)
  }
  const heading = changelog.split('\n').find((line) => line.startsWith(`## ${version},`))
  if (heading === undefined) problems.push(`CHANGELOG.md has no “## ${version}, ” and a date.`)
  else if (Number.isNaN(Date.parse(heading.slice(`## ${version},`.length))))
    problems.push(`CHANGELOG.md says “${heading.slice(3)}”, where the date of the release belongs.`)
  if (changes !== '') problems.push('Some changes are not committed.')
  if (tags.includes(`v${version}`)) problems.push(`There is a tag v${version} already.`)
  if (!protoIsReleased)
    problems.push('proto/released.binpb is not the interface of now; npm run release:proto makes it, then commit it.')
  return problems
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
}

function run([program, ...args]: readonly [string, ...string[]]): void {
  const command = `${program} ${args.join(' ')}`
  say(`> ${command}`)
  const { status } = spawnSync(program, args, { cwd: root, stdio: 'inherit' })
  if (status === 0) return
  say(`${command} failed: nothing was packed, and there is no tag.`)
  process.exit(1)
}

function say(words: string): void {
  process.stdout.write(`${words}\n`)
}

function readState(): ReleaseState {
  return {
    version: manifest.version,
    versions: readVersions(root),
    changelog: readFileSync(join(root, 'CHANGELOG.md'), 'utf8'),
    changes: git('status', '--porcelain'),
    tags: git('tag', '--list').split('\n'),
    protoIsReleased: isProtoReleased(),
  }
}

function isProtoReleased(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-release-'))
  try {
    const now = join(folder, 'now.binpb')
    execFileSync('npx', ['buf', 'build', '-o', now], { cwd: root })
    return readFileSync(now).equals(readFileSync(join(root, 'proto/released.binpb')))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Packs all that is published. */
function packAll(folder: string): readonly string[] {
  const files = [pack(folder), packClient('client', folder), packClient('ai-sdk', folder), buildWheel(folder)]
  for (const file of files) {
    const bytes = readFileSync(file)
    say(`${createHash('sha256').update(bytes).digest('hex')}  ${bytes.length} bytes  ${file}`)
  }
  return files
}

function release(folder: string, dryRun: boolean): void {
  const state = readState()
  const problems = findProblems(state)
  for (const problem of problems) say(problem)
  if (problems.length > 0 && !dryRun) {
    process.exitCode = 1
    return
  }
  if (dryRun) say(`A dry run: these are not run: ${checks.map((one) => one.join(' ')).join('; ')}; git tag`)
  else for (const command of checks) run(command)
  const files = packAll(folder)
  const tag = `v${state.version}`
  if (!dryRun) git('tag', '-a', tag, '-m', `mediagen ${state.version}`)
  say(`Nothing is published or pushed. These commands do it:`)
  say(`  git push origin ${tag}`)
  for (const file of files) {
    const path = isAbsolute(file) ? file : `./${file}`
    say(file.endsWith('.whl') ? `  twine upload ${path}` : `  npm publish ${path} --access public`)
  }
}

/** Writes a version everywhere, and makes the interface of now the released one if it breaks nothing. */
function set(version: string): void {
  if (!semantic.test(version)) throw new Error(`“${version}” is not a semantic version, such as 0.2.0.`)
  run(['npm', 'run', 'check:proto'])
  writeVersion(root, version)
  run(['npm', 'run', 'release:proto'])
  say(`Give CHANGELOG.md the heading “## ${version}, ” and the date, commit, and run npm run release.`)
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { set: { type: 'string' }, 'dry-run': { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  if (values.set === undefined) release(positionals[0] ?? 'release', values['dry-run'])
  else set(values.set)
}
