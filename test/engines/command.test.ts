import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import type { EngineRun, JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { runOf } from '@mediagen/engine/run-of.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCommandEngine } from '../../src/engines/command.ts'
import type { CommandEngineOptions, ProgramFailure } from '../../src/engines/command.ts'

const node = process.execPath
let base: string

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'mediagen-command-'))
})
afterAll(async () => {
  await rm(base, { recursive: true, force: true })
})

interface Trial {
  run?: string[]
  spec?: JsonObject
  input?: JsonObject
  media?: Record<string, string>
  checkpoint?: JsonValue
  options?: Partial<CommandEngineOptions>
  onProgress?: (fraction: number) => void
}

/** Runs a program once, in a folder of its own, and notes what it reports. */
async function start(script: string, trial: Trial = {}) {
  const lines: string[] = []
  const progress: number[] = []
  const checkpoints: JsonValue[] = []
  const controller = new AbortController()
  const log: NonNullable<CommandEngineOptions['log']> = ({ line }) => lines.push(line)
  const engine = createCommandEngine({ environment: process.env, log, ...trial.options })
  const folder = await mkdtemp(join(base, 'run-'))
  const run = runOf({
    input: trial.input ?? {},
    media: async () => new Map(Object.entries(trial.media ?? {})),
    checkpoint: trial.checkpoint ?? null,
    folder,
    signal: controller.signal,
    onProgress: (fraction) => {
      progress.push(fraction)
      trial.onProgress?.(fraction)
    },
    saveCheckpoint: async (checkpoint) => void checkpoints.push(checkpoint),
  })
  const spec = { kind: 'command', run: trial.run ?? [node, '-e', script], base_folder: base, ...trial.spec }
  const result = engine.run(spec, run)
  result.catch(() => {})
  return { result, engine, folder, lines, progress, checkpoints, abort: () => controller.abort() }
}

const touch = 'require("fs").writeFileSync("out.bin", "x");'

/** Whether a process still runs; a zombie that nobody has buried does not. */
function isAlive(pid: number): boolean {
  try {
    return !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

describe('what a program is given', () => {
  test('one JSON object on standard input, then its end', async () => {
    const script = `
      let text = ''
      process.stdin.on('data', (d) => (text += d))
      process.stdin.on('end', () => require('fs').writeFileSync('request.json', text))`
    const trial = await start(script, {
      input: { prompt: 'ein Füchschen', width: 1024 },
      media: { '/image': '/run/media/0.png' },
      checkpoint: { step: 3 },
    })
    await expect(trial.result).resolves.toEqual({ files: ['request.json'], usage: {} })
    expect(JSON.parse(readFileSync(join(trial.folder, 'request.json'), 'utf8'))).toEqual({
      job_id: 'job_1',
      model: 'acme/test',
      attempt: 1,
      input: { prompt: 'ein Füchschen', width: 1024 },
      media: { '/image': '/run/media/0.png' },
      checkpoint: { step: 3 },
    })
  })

  test('a program that closes its input unread does no harm', async () => {
    const trial = await start('', {
      run: ['sh', '-c', 'exec 0<&-; echo x > out.txt'],
      input: { text: 'x'.repeat(4_000_000) },
    })
    await expect(trial.result).resolves.toMatchObject({ files: ['out.txt'] })
  })

  test('an environment without the secrets of the server, plus its own settings', async () => {
    const trial = await start('require("fs").writeFileSync("env.json", JSON.stringify(process.env))', {
      options: { environment: { PATH: process.env['PATH'], HOME: '/home/me', MEDIAGEN_SECRET: 's', LD_PRELOAD: 'x' } },
      spec: { env: { THREADS: 4, OFFLINE: true } },
    })
    await trial.result
    expect(JSON.parse(readFileSync(join(trial.folder, 'env.json'), 'utf8'))).toEqual({
      PATH: process.env['PATH'],
      HOME: '/home/me',
      LANG: 'C.UTF-8',
      THREADS: '4',
      OFFLINE: 'true',
    })
  })

  test('its own folder to work in, and arguments that find the files beside the catalog', async () => {
    await writeFile(join(base, 'paint.cjs'), 'require("fs").writeFileSync("argv.json", JSON.stringify(process.argv))')
    const trial = await start('', { run: [node, 'paint.cjs', '--style', '$HOME;*', 'missing.txt'] })
    await expect(trial.result).resolves.toMatchObject({ files: ['argv.json'] })
    const argv = JSON.parse(readFileSync(join(trial.folder, 'argv.json'), 'utf8'))
    expect(argv.slice(1)).toEqual([join(base, 'paint.cjs'), '--style', '$HOME;*', 'missing.txt'])
  })
})

describe('what a program says', () => {
  test('progress, usage and checkpoints are understood, anything else is logged', async () => {
    const script = `${touch}
      const say = (line) => process.stdout.write(line + '\\n')
      say('{"progress": -1}'); say('{"progress": 0.5}'); say('{"progress": 0.2}'); say('{"progress": 7}')
      say('{"usage": {"seconds": 1}}'); say('{"usage": {"seconds": 3.2, "steps": 4}, "checkpoint": {"id": "a"}}')
      say('{"checkpoint": {"id": "b"}}')
      say('loading'); say('{"usage": {"seconds": -1}}'); say('{"usage": {"seconds": 1e999}}'); say('{"progress": "x"}')
      say('{"other": 1}'); say('[1]'); say(''); say('10%\\r20%')
      process.stdout.write('{"usage": {"frames": 2}}')`
    const trial = await start(script)
    await expect(trial.result).resolves.toEqual({ files: ['out.bin'], usage: { seconds: 3.2, steps: 4, frames: 2 } })
    expect(trial.progress).toEqual([0.5, 1])
    // Of those that come together the last is saved.
    expect(trial.checkpoints.at(-1)).toEqual({ id: 'b' })
    expect(trial.lines).toEqual([
      'loading',
      '{"usage": {"seconds": -1}}',
      '{"usage": {"seconds": 1e999}}',
      '{"progress": "x"}',
      '{"other": 1}',
      '[1]',
      '10%',
      '20%',
    ])
  })

  test('long lines are cut and their number is bounded', async () => {
    const script = `${touch}
      process.stdout.write('x'.repeat(1_000_000) + '\\n{"progress": 0.5}\\n')
      for (let i = 0; i < 5000; i++) console.log('line ' + i)`
    const trial = await start(script, { options: { maxLogLines: 3 } })
    await trial.result
    expect(trial.lines.map((line) => line.length)).toEqual([64 * 1024, 6, 6, 46])
    expect(trial.progress).toEqual([0.5])
  })

  test('a line nested too deep to be written again is not a message', async () => {
    const nested = (depth: number) =>
      `console.log('{"checkpoint":' + '['.repeat(${depth}) + ']'.repeat(${depth}) + '}')`
    const trial = await start(`${touch} ${nested(30_000)}; ${nested(3)}`)
    await trial.result
    expect(trial.checkpoints).toEqual([[[[]]]])
    expect(trial.lines.map((line) => line.length)).toEqual(['{"checkpoint":}'.length + 60_000])
  })

  test('a program that prints without end does not keep the server busy', async () => {
    const message = 'still here'
    const linesInChunk = (64 * 1024) / (message.length + 1)
    const trial = await start('', { run: ['yes', message], options: { maxLogLines: Infinity } })
    // A timer that is shorter than the pause after each chunk has its turn before the next one, on any machine.
    let before = 0
    for (let turns = 0; turns < 30;) {
      await new Promise((resolve) => setTimeout(resolve, 8))
      expect(trial.lines.length - before).toBeLessThanOrEqual(Math.ceil(linesInChunk))
      if (trial.lines.length > before) turns += 1
      before = trial.lines.length
    }
    trial.abort()
    await expect(trial.result).rejects.toMatchObject({ code: 'canceled' })
  })

  test('a report that throws fails the run and nothing else', async () => {
    const onProgress = () => {
      throw new Error('lease lost')
    }
    const trial = await start('console.log(`{"progress":0.5}`); setInterval(() => {}, 1000)', { onProgress })
    await expect(trial.result).rejects.toThrow('lease lost')
  })
})

describe('how a program fails', () => {
  test('with the error that it printed', async () => {
    const error = { code: 'content_refused', message: 'Not this.\u001b[31m', retryable: true }
    const script = `console.log(JSON.stringify(${JSON.stringify({ error })})); console.error('noise'); process.exitCode = 2`
    const trial = await start(script)
    await expect(trial.result).rejects.toMatchObject({
      name: 'EngineError',
      code: 'content_refused',
      message: 'Not this.',
      retryable: true,
    })
  })

  test('with a sentence for its owner; the operator is told the end of standard error', async () => {
    const failures: ProgramFailure[] = []
    const script =
      'for (let i = 1; i <= 30; i++) console.error("line " + i); console.error("Error: no model\\n\\nNode.js v24"); process.exitCode = 1'
    const trial = await start(script, { options: { onFailure: (failure) => failures.push(failure) } })
    const message = 'The program of this model failed (exit code 1). The log of the server says more.'
    await expect(trial.result).rejects.toMatchObject({ code: 'program_failed', message, retryable: false })
    expect(failures).toMatchObject([{ jobId: 'job_1', model: 'acme/test', end: 'exit code 1' }])
    expect(failures[0]?.stderr).toHaveLength(20)
    expect(failures[0]?.stderr.slice(-3)).toEqual(['line 30', 'Error: no model', 'Node.js v24'])
  })

  test.each([
    ['process.exit(3)', 'The program of this model failed (exit code 3). The log of the server says more.'],
    [
      'process.kill(process.pid, "SIGKILL")',
      'The program of this model failed (signal SIGKILL). The log of the server says more.',
    ],
  ])('with the way it ended when it said nothing: %s', async (script, message) => {
    const trial = await start(script)
    await expect(trial.result).rejects.toMatchObject({ code: 'program_failed', message })
  })

  test('an error that it printed does not undo exit code 0', async () => {
    const trial = await start(`${touch} console.log('{"error": {"code": "warned", "message": "meh"}}')`)
    await expect(trial.result).resolves.toMatchObject({ files: ['out.bin'] })
  })

  test('a missing program and a missing folder', async () => {
    const missing = await start('', { run: ['no-such-program'] })
    const code = 'program_not_started'
    await expect(missing.result).rejects.toMatchObject({ code, message: expect.stringContaining('not found') })
    await writeFile(join(base, 'garbled'), '#!/no/such/interpreter\n')
    await chmod(join(base, 'garbled'), 0o755)
    const garbled = await start('', { run: ['./garbled'] })
    await expect(garbled.result).rejects.toMatchObject({ code, message: expect.stringContaining('ENOENT') })
  })

  test('arguments that are too long for the system', async () => {
    const trial = await start('', { run: [node, '-e', ' '.repeat(8_000_000)] })
    await expect(trial.result).rejects.toMatchObject({ code: 'program_not_started' })
  })
})

describe('what a program leaves', () => {
  test('files in the order of their names, without hidden ones and folders', async () => {
    const script = `const fs = require('fs')
      for (const name of ['b.png', '.cache', 'a.png', 'B.png', '10.png', '9.png']) fs.writeFileSync(name, 'x')
      fs.mkdirSync('parts'); fs.writeFileSync('parts/x.png', 'x')`
    const trial = await start(script)
    await expect(trial.result).resolves.toEqual({ files: ['10.png', '9.png', 'B.png', 'a.png', 'b.png'], usage: {} })
  })

  test.each([
    ['nothing', '', 'no_output'],
    ['only a hidden file', 'require("fs").writeFileSync(".x", "x")', 'no_output'],
    ['not even its folder', 'require("fs").rmdirSync(process.cwd())', 'no_output'],
    ['a symbolic link', `${touch} require("fs").symlinkSync("/etc/passwd", "z.png")`, 'output_invalid'],
    ['too many files', 'for (const n of "abcd") require("fs").writeFileSync(n, "x")', 'too_many_outputs'],
    ['too much, quickly', 'require("fs").writeFileSync("a", Buffer.alloc(200_000))', 'output_too_large'],
  ])('%s', async (_, script, code) => {
    const trial = await start(script, { options: { maxOutputs: 3, maxOutputBytes: 100_000 } })
    await expect(trial.result).rejects.toMatchObject({ name: 'EngineError', code })
  })

  test('a program that keeps writing is killed', async () => {
    const script = `process.on('SIGTERM', () => {})
      setInterval(() => require('fs').appendFileSync('sub/.out', Buffer.alloc(50_000)), 5)
      require('fs').mkdirSync('sub')`
    const trial = await start(script, { options: { maxOutputBytes: 1_000_000, pollMs: 20 } })
    await expect(trial.result).rejects.toMatchObject({ code: 'output_too_large' })
  })
})

describe('how a program is stopped', () => {
  // The child of the child ignores SIGTERM as well; both numbers are told before the run is aborted.
  const stubborn = `
    process.on('SIGTERM', () => {})
    const inner = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("up")'
    const child = require('child_process').spawn(process.execPath, ['-e', inner])
    child.stdout.once('data', () => console.log(JSON.stringify({ checkpoint: [process.pid, child.pid], progress: 0.1 })))
    setInterval(() => {}, 1000)`

  test('what it prints as a checkpoint when it is told to stop is saved; the same one again is not', async () => {
    const script = `const say = (step) => console.log(JSON.stringify({ checkpoint: { step } }))
      process.on('SIGTERM', () => { say(2); process.exit(1) })
      say(1); say(1); console.log('{"progress": 0.5}'); setInterval(() => {}, 1000)`
    const begun = Promise.withResolvers<void>()
    const trial = await start(script, { onProgress: () => begun.resolve() })
    await begun.promise
    trial.abort()
    await expect(trial.result).rejects.toMatchObject({ code: 'canceled' })
    expect(trial.checkpoints).toEqual([{ step: 1 }, { step: 2 }])
  })

  test('one that ignores SIGTERM is killed two seconds later, with its children', async () => {
    const up = Promise.withResolvers<void>()
    const trial = await start(stubborn, { onProgress: () => up.resolve() })
    await up.promise
    const abortedAt = performance.now()
    trial.abort()
    await expect(trial.result).rejects.toMatchObject({ code: 'canceled' })
    expect(performance.now() - abortedAt).toBeGreaterThan(1900)
    const pids = trial.checkpoints[0] as number[]
    expect(pids).toHaveLength(2)
    expect(pids.filter(isAlive)).toEqual([])
  })

  test('one that heeds SIGTERM ends at once and may leave a checkpoint', async () => {
    const up = Promise.withResolvers<void>()
    const script = `
      process.on('SIGTERM', () => { console.log('{"checkpoint": "saved"}'); clearInterval(timer) })
      const timer = setInterval(() => {}, 1000)
      ${touch}
      console.log('{"progress": 0.1}')`
    const trial = await start(script, { onProgress: () => up.resolve(), options: { killAfterMs: 60_000 } })
    await up.promise
    trial.abort()
    await expect(trial.result).rejects.toMatchObject({ code: 'canceled' })
    expect(trial.checkpoints).toEqual(['saved'])
  })

  test('a child of a shell that is already gone keeps its grace', async () => {
    const up = Promise.withResolvers<void>()
    const saving = `
      process.on('SIGTERM', () => setTimeout(() => { console.log('{"checkpoint": "saved"}'); process.exit() }, 100))
      setInterval(() => {}, 1000)
      console.log('{"progress": 0.1}')`
    const run = ['sh', '-c', '"$0" -e "$1"; echo never', node, saving]
    const trial = await start('', { run, onProgress: () => up.resolve() })
    await up.promise
    trial.abort()
    await expect(trial.result).rejects.toMatchObject({ code: 'canceled' })
    expect(trial.checkpoints).toEqual(['saved'])
  })

  test('what it left in the background ends with it', async () => {
    const run = ['sh', '-c', 'sleep 1000 & echo "{\\"checkpoint\\": $!}"; echo x > out.txt']
    const trial = await start('', { run })
    await expect(trial.result).resolves.toMatchObject({ files: ['out.txt'] })
    expect(isAlive(trial.checkpoints[0] as number)).toBe(false)
  })

  test('closing the engine stops its programs and lets no other start', async () => {
    const up = Promise.withResolvers<void>()
    const trial = await start(stubborn, { onProgress: () => up.resolve(), options: { killAfterMs: 50 } })
    await up.promise
    await trial.engine.close()
    await expect(trial.result).rejects.toMatchObject({ code: 'canceled' })
    expect((trial.checkpoints[0] as number[]).filter(isAlive)).toEqual([])
    const spec = { kind: 'command', run: [node, '-e', touch] }
    const run = { ...({} as EngineRun), folder: async () => trial.folder, signal: new AbortController().signal }
    await expect(trial.engine.run(spec, run)).rejects.toMatchObject({ code: 'canceled' })
  })

  test('a server that is killed takes its programs along', async () => {
    const folder = await mkdtemp(join(base, 'run-'))
    const server = `
      const { createCommandEngine } = await import(${JSON.stringify(join(import.meta.dirname, '../../src/engines/command.ts'))})
      const engine = createCommandEngine({ environment: process.env, killAfterMs: 500 })
      await engine.run({ kind: 'command', run: [process.execPath, '-e', ${JSON.stringify(stubborn)}] }, {
        jobId: 'job_1', model: 'm', attempt: 1, input: {}, media: async () => new Map(), checkpoint: null, folder: async () => ${JSON.stringify(folder)},
        signal: new AbortController().signal, onProgress: () => {}, saveCheckpoint: async (pids) => console.log(JSON.stringify(pids)),
      })`
    const child = spawn(node, ['--input-type=module', '-e', server], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    const pids = JSON.parse(line) as number[]
    expect(pids.filter(isAlive)).toEqual(pids)
    child.kill('SIGKILL')
    await expect.poll(() => pids.filter(isAlive)).toEqual([])
  })
})
