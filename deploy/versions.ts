// The places of the repository that say which version it is.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const manifests = [
  'package.json',
  ...['ai-sdk', 'builtin', 'client', 'engine'].map((one) => `packages/${one}/package.json`),
]
const ofManifest = /(?<=^ {2}"version": "|"@mediagen\/(?:ai-sdk|builtin|client|engine)": ")[^"]+/gm

/** Each match is a version. */
const patterns: readonly (readonly [path: string, version: RegExp])[] = [
  ...manifests.map((path) => [path, ofManifest] as const),
  ['packages/client/python/pyproject.toml', /(?<=^version = ")[^"]+/gm],
  ['docs/clients.md', /(?<=mediagen-(?:client|ai-sdk)-)\d\S*(?=\.tgz)/g],
]
const lock = 'package-lock.json'
const kubernetes = 'deploy/kubernetes'
const image = /(?<=image: mediagen:)\S+/g

/** What the lockfile says of the packages of this repository. */
interface Lockfile {
  version: string
  readonly packages: Readonly<Record<string, { version: string; dependencies?: Record<string, string> }>>
}

/** @returns the versions that each place says, by path */
export function readVersions(root: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  const visit = (path: string, version: string): string => {
    found.set(path, [...(found.get(path) ?? []), version])
    return version
  }
  walk(root, visit)
  return found
}

/** Writes a version into every place. */
export function writeVersion(root: string, version: string): void {
  for (const [path, text] of walk(root, () => version)) writeFileSync(join(root, path), text)
}

/** Goes through all versions. @returns the text of each file with what `visit` makes of them */
function walk(root: string, visit: (path: string, version: string) => string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  const read = (path: string): string => readFileSync(join(root, path), 'utf8')
  const manifestsOfKubernetes = readdirSync(join(root, kubernetes)).filter((name) => name.endsWith('.yaml'))
  const all = [...patterns, ...manifestsOfKubernetes.map((name) => [`${kubernetes}/${name}`, image] as const)]
  for (const [path, version] of all)
    texts.set(
      path,
      read(path).replace(version, (one) => visit(path, one)),
    )
  const locked = JSON.parse(read(lock)) as Lockfile
  locked.version = visit(lock, locked.version)
  for (const [name, entry] of Object.entries(locked.packages)) {
    // The root, and the workspaces; everything else comes from a registry.
    if (!['', ...manifests.map((path) => path.replace('/package.json', ''))].includes(name)) continue
    entry.version = visit(lock, entry.version)
    for (const [needed, version] of Object.entries(entry.dependencies ?? {}))
      if (needed.startsWith('@mediagen/'))
        entry.dependencies = { ...entry.dependencies, [needed]: visit(lock, version) }
  }
  texts.set(lock, `${JSON.stringify(locked, null, 2)}\n`)
  return texts
}
