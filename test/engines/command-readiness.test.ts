// Whether a model of the command engine can run: its program, and its settings.
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCommandEngine } from '../../src/engines/command.ts'

let base: string

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'mediagen-command-'))
})
afterAll(async () => {
  await rm(base, { recursive: true, force: true })
})

const engine = createCommandEngine({ environment: { PATH: '/usr/bin:/bin' } })
const unready = (spec: JsonObject) => engine.unready({ kind: 'command', base_folder: base, ...spec })

test('a program on PATH, beside the catalog, or by its path', async () => {
  await mkdir(join(base, 'bin'))
  await writeFile(join(base, 'bin/paint'), '#!/bin/sh\n')
  expect(await unready({ run: ['sh', '-c', 'true'] })).toBeNull()
  expect(await unready({ run: [process.execPath] })).toBeNull()
  expect(await unready({ run: ['./bin/paint'] })).toBe('the program ./bin/paint is not executable')
  await chmod(join(base, 'bin/paint'), 0o755)
  expect(await unready({ run: ['./bin/paint'] })).toBeNull()
  expect(await unready({ run: ['bin/paint'] })).toBeNull()
  expect(await unready({ run: ['paint'] })).toBe('the program paint was not found on the server')
  expect(await unready({ run: ['./bin'] })).toBe('the program ./bin was not found on the server')
  expect(await unready({ run: ['paint'], env: { PATH: join(base, 'bin') } })).toBeNull()
})

test.each([
  [{}, 'engine.run must be a list'],
  [{ run: [] }, 'engine.run must be a list'],
  [{ run: ['sh', 1] }, 'engine.run must be a list'],
  [{ run: ['sh'], env: { A: {} } }, 'engine.env.A must be a string'],
  [{ run: ['sh'], env: { 'A=B': 'x' } }, 'engine.env.A=B cannot be set'],
])('settings that are wrong: %j', async (spec, words) => {
  expect(await unready(spec as JsonObject)).toContain(words)
})
