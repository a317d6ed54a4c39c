// `mediagen` as a command of its own: by the PATH that the README sets, by npm link and by a global install, with its completion.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }

const root = resolve(import.meta.dirname, '../..')
const prefix = mkdtempSync(join(tmpdir(), 'mediagen-prefix-'))
afterAll(() => rmSync(prefix, { recursive: true }))

function npm(name: string, ...args: string[]): string {
  const own = join(prefix, name)
  mkdirSync(join(own, 'lib'), { recursive: true })
  const env = { ...process.env, npm_config_prefix: own }
  execFileSync('npm', [...args, '--offline', '--no-audit', '--no-fund', '--ignore-scripts'], {
    cwd: root,
    env,
    stdio: 'pipe',
  })
  return join(own, 'bin')
}

test.each([
  ['the folder bin', () => join(root, 'bin')],
  ['npm link', () => npm('link', 'link')],
  ['npm install -g', () => npm('install', 'install', '-g', root)],
])('%s gives mediagen, from any folder', (_, install) => {
  const script = 'mediagen --version; source <(mediagen completion bash); complete -p mediagen'
  const env = { PATH: `${install()}:${process.env['PATH']}`, HOME: prefix }
  const said = execFileSync('bash', ['-ec', script], { cwd: prefix, env, encoding: 'utf8' })
  expect(said).toBe(`${manifest.version}\ncomplete -o default -F _mediagen mediagen\n`)
})
