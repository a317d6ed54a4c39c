// Runs the code that the console and the reference show, as a reader would: in a shell, by Python, by Node.
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildClient } from '../client/built-client.ts'

const root = join(import.meta.dirname, '../..')
const python = ['/usr/bin/python3', 'python3'].find((program) => isThere(program, ['-c', 'import requests']))

/** Why code in a language cannot run on this machine; null if it can. */
export const missing: Readonly<Record<string, string | null>> = {
  curl: isThere('curl', ['--version']) ? null : 'no curl',
  Python: python ? null : 'no Python with requests',
  TypeScript: null,
  'buf curl': null,
}

function isThere(program: string, options: readonly string[]): boolean {
  try {
    execFileSync(program, options, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** A folder where code runs: it has the clients, the schema for buf, and a picture to upload. */
export function createPlace(key: string): {
  readonly folder: string
  /** Runs code; answers with what it printed. */
  run(language: string, code: string): Promise<string>
  [Symbol.dispose](): void
} {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-code-'))
  buildClient(folder)
  symlinkSync(join(root, 'proto'), join(folder, 'proto'))
  // The smallest PNG.
  const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
  writeFileSync(join(folder, 'picture.png'), Buffer.from(picture, 'base64'))
  const env = {
    ...process.env,
    PATH: `${join(root, 'node_modules/.bin')}:${process.env['PATH']}`,
    PYTHONPATH: join(root, 'packages/client/python'),
    PYTHONDONTWRITEBYTECODE: '1',
    NO_PROXY: '127.0.0.1',
    MEDIAGEN_KEY: key,
  }
  let runs = 0
  return {
    folder,
    async run(language, code) {
      const file = join(folder, `code-${(runs += 1)}.${language === 'TypeScript' ? 'ts' : 'txt'}`)
      writeFileSync(file, language === 'TypeScript' ? `${code}\nexport {}\n` : code)
      const [program, ...options] =
        language === 'TypeScript'
          ? [process.execPath, file]
          : language === 'Python'
            ? [python ?? '', file]
            : ['sh', '-e', file]
      const { stdout } = await promisify(execFile)(program ?? '', options, { cwd: folder, env })
      return stdout
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}
