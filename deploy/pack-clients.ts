// Packs the clients as others install them: tarballs for npm, and a wheel for pip.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const root = join(import.meta.dirname, '..')
// Debian's has what its packages bring; another one on the path may not.
const pythons = ['/usr/bin/python3', 'python3']
const build = 'import sys; from setuptools.build_meta import build_wheel; print(build_wheel(sys.argv[1]))'

/** Writes the tarball of a package into a folder. @returns its path */
export function packClient(name: 'client' | 'ai-sdk', folder: string): string {
  mkdirSync(folder, { recursive: true })
  const args = ['pack', `./packages/${name}`, '--silent', '--pack-destination', resolve(folder)]
  const [file = ''] = execFileSync('npm', args, { cwd: root, encoding: 'utf8' }).trim().split('\n').slice(-1)
  return join(folder, file)
}

/** The Python that can build wheels, without fetching anything; undefined where there is none. */
export function findWheelBuilder(): string | undefined {
  return pythons.find((program) => {
    try {
      execFileSync(program, ['-c', 'import setuptools, wheel'], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  })
}

/** Writes the wheel of the Python client into a folder. @returns its path */
export function buildWheel(folder: string): string {
  const python = findWheelBuilder()
  if (!python) throw new Error('No Python here can build a wheel: install python3-setuptools and python3-wheel.')
  // A build leaves files beside its source.
  const stage = mkdtempSync(join(tmpdir(), 'mediagen-wheel-'))
  try {
    mkdirSync(folder, { recursive: true })
    for (const file of ['mediagen.py', 'pyproject.toml', 'README.md'])
      cpSync(join(root, 'packages/client/python', file), join(stage, file))
    cpSync(join(root, 'LICENSE'), join(stage, 'LICENSE'))
    const printed = execFileSync(python, ['-c', build, resolve(folder)], {
      cwd: stage,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [file = ''] = printed.trim().split('\n').slice(-1)
    return join(folder, file)
  } finally {
    rmSync(stage, { recursive: true })
  }
}
