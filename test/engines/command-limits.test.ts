// What the kernel refuses to programs of operators: by itself that they gain privileges, and whatever `limits` says.
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { ProgramLimits } from '@mediagen/engine/limited-program.ts'
import { parseProgramLimits, parseProgramLimitsText } from '@mediagen/engine/program-limits.ts'
import { runOf } from '@mediagen/engine/run-of.ts'
import { hasTool } from '@mediagen/engine/system-tools.ts'
import { afterAll, describe, expect, test } from 'vitest'
import { createCommandEngine } from '../../src/engines/command.ts'

const isRoot = process.getuid?.() === 0
const can = { setpriv: hasTool('setpriv'), prlimit: hasTool('prlimit'), unshare: hasTool('unshare') && isRoot }
for (const [tool, there] of Object.entries(can))
  if (!there) console.warn(`${tool} cannot be used here: tests of limits that need it are skipped`)

const base = mkdtempSync(join(tmpdir(), 'mediagen-limits-'))
chmodSync(base, 0o711)
afterAll(() => rmSync(base, { recursive: true, force: true }))

/** Runs a shell script as a program; what it left in out.txt, and the folder. */
async function run(script: string, limits: JsonObject = {}, usual: ProgramLimits = {}) {
  const folder = mkdtempSync(join(base, 'run-'))
  chmodSync(folder, 0o755)
  await using engine = Object.assign(createCommandEngine({ environment: process.env, limits: usual }), {
    async [Symbol.asyncDispose]() {
      await engine.close()
    },
  })
  await engine.run({ kind: 'command', run: ['sh', '-c', script], limits }, runOf({ folder }))
  return { text: readFileSync(join(folder, 'out.txt'), 'utf8'), folder }
}

const status = 'cat /proc/self/status /proc/self/limits > out.txt'

test.runIf(can.setpriv)('a program gains no privileges, unless its entry says that it may', async () => {
  expect((await run(status)).text).toMatch(/^NoNewPrivs:\s+1$/m)
  expect((await run(status, { new_privileges: true })).text).toMatch(/^NoNewPrivs:\s+0$/m)
})

test.runIf(can.prlimit)(
  'files, sizes, memory and tasks are those of its entry, and of the server for what it leaves open',
  async () => {
    const { text } = await run(
      status,
      { open_files: 77, file_bytes: 123_456, memory_bytes: 1_000_000_000 },
      { openFiles: 88, tasks: 99 },
    )
    expect(text).toMatch(/^Max open files +77 +77 /m)
    expect(text).toMatch(/^Max file size +123456 +123456 /m)
    expect(text).toMatch(/^Max data size +1000000000 +1000000000 /m)
    expect(text).toMatch(/^Max processes +99 +99 /m)
    expect(text).toMatch(/^Max core file size +0 +0 /m)
    await expect(run('head -c 200000 /dev/zero > out.txt', { file_bytes: 100_000 })).rejects.toMatchObject({
      code: 'program_failed',
    })
  },
)

test.runIf(can.unshare)('a program without network reaches nothing, not even this machine', async () => {
  const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const script = `${process.execPath} -e 'require("net").connect(${port}, "127.0.0.1").on("error", (e) => console.log(e.code)).on("connect", () => console.log("connected"))' > out.txt`
  expect((await run(script)).text).toBe('connected\n')
  expect((await run(script, { network: false })).text).toBe('ENETUNREACH\n')
  server.close()
})

test.runIf(can.setpriv && isRoot)('a program with a user of its own has what that user has and no more', async () => {
  const secret = join(base, 'mediagen.db')
  writeFileSync(secret, 'secret', { mode: 0o600 })
  const { text, folder } = await run(`id -u > out.txt; id -G >> out.txt; cat '${secret}' >> out.txt 2>&1; true`, {
    user: '1234:2345',
  })
  expect(text).toMatch(/^1234\n2345\ncat: .*: Permission denied\n$/)
  expect(statSync(join(folder, 'out.txt'))).toMatchObject({ uid: 1234, gid: 2345 })
})

describe('limits that are wrong', () => {
  const engine = createCommandEngine({ environment: { PATH: '/usr/bin:/bin' } })
  test.each([
    [{ open_files: 0 }, 'engine.limits: open_files must be a whole number from 1'],
    [{ network: 'no' }, 'engine.limits: network must be true or false'],
    [{ user: 'me' }, 'engine.limits: user must be a number, or two as in 1000:1000'],
    [{ files: 1 }, 'engine.limits: files is not a limit'],
    [[], 'engine.limits: must be a map of limits'],
  ])('%j', async (limits, words) => {
    expect(await engine.unready({ kind: 'command', run: ['sh'], limits })).toBe(words)
  })

  test.runIf(!isRoot)('a user needs root', async () => {
    expect(await engine.unready({ kind: 'command', run: ['sh'], limits: { user: 1 } })).toContain('as root')
  })
})

test('the setting has the same on one line', () => {
  expect(parseProgramLimitsText('open_files=10, network=false user=1:2')).toEqual(
    parseProgramLimits({ open_files: 10, network: false, user: '1:2' }),
  )
  expect(parseProgramLimitsText('')).toEqual({})
  expect(() => parseProgramLimitsText('open_files=x')).toThrow(/open_files must be a whole number/)
  expect(() => parseProgramLimitsText('open_files')).toThrow(/open_files must be/)
})
