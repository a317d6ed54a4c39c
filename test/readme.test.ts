// The README's commands, run as they stand there.
import { execFile, spawn } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { watchEnd } from './cli/command-line.ts'
import { startTestApp } from './test-app.ts'

const root = resolve(import.meta.dirname, '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const run = promisify(execFile)

function blocksOf(page: string): string[] {
  return [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text)
}

/** Commands of a block, with the lines that continue them joined and comments dropped. */
function commandsOf(block: string): string[] {
  return block
    .replaceAll(/ *\\\n */g, ' ')
    .split('\n')
    .map((line) => line.replace(/ +#.*$/, '').trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
}

test('the first command of the README installs and starts, the last installs and tests', () => {
  const blocks = blocksOf(readme)
  expect(commandsOf(blocks[0] ?? '')).toEqual(['npm ci --omit=dev && npm start'])
  expect(commandsOf(blocks.at(-1) ?? '')).toEqual(['npm ci && npm test'])
})

/** `npm start` as a terminal runs it, on free ports and with a data directory of its own. */
async function startByNpm(dataDir: string) {
  const env = {
    ...process.env,
    MEDIAGEN_DATA_DIR: dataDir,
    MEDIAGEN_HTTP_PORT: '0',
    MEDIAGEN_GRPC_PORT: '0',
    MEDIAGEN_STOP_GRACE_SECONDS: '0',
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
  }
  const npm = spawn('npm', ['start', '--silent'], { cwd: root, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = watchEnd(npm)
  let said = ''
  // It ends with how to end it, or too early.
  const isReady = new Promise<void>((resolve) =>
    npm.stdout.on('data', (text) => (said += text).includes('Ctrl-C') && resolve()),
  )
  await Promise.race([isReady, ended])
  return {
    said,
    find: (pattern: RegExp): string => pattern.exec(said)?.[1] ?? '',
    async [Symbol.asyncDispose]() {
      // Ctrl-C reaches npm and the server.
      if (npm.pid !== undefined && npm.exitCode === null) process.kill(-npm.pid, 'SIGINT')
      await ended
    },
  }
}

test('npm start makes a real picture and names its file; pasted one after the other, the lines of the README and of docs/one-generation.md then end with a picture and a film on the disk', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-readme-'))
  try {
    await using server = await startByNpm(join(folder, 'data'))
    const file = server.find(/(\S+\.png)/)
    expect(file, server.said).not.toBe('')
    // A picture of one colour has no entropy.
    expect((await sharp(resolve(root, file)).stats()).entropy).toBeGreaterThan(2)

    symlinkSync(join(root, 'bin'), join(folder, 'bin'))
    const url = server.find(/^REST +(\S+)\/v1/m)
    const [, use = ''] = readme.split(/^## (?=Use it|Run it)/m)
    const oneGeneration = readFileSync(join(root, 'docs/one-generation.md'), 'utf8')
    const pasted = [...blocksOf(use), ...blocksOf(oneGeneration)].join('').replaceAll('http://127.0.0.1:8080', url)
    const path = `${dirname(process.execPath)}:${process.env['PATH']}`
    const env = { ...process.env, PATH: path, MEDIAGEN_URL: url, XDG_CONFIG_HOME: folder }
    // The start is sent again, as a client does that has lost the answer.
    const start = /^job=[\s\S]*?^echo.*$/m.exec(pasted)?.[0] ?? ''
    const count = 'curl -sS -H "$auth" $api/v1/jobs'
    // Nobody stays at a line that failed.
    const script = [pasted, start, count].join('\n')
    const { stdout } = await run('sh', ['-euc', script], { cwd: folder, env, maxBuffer: 100_000_000 })
    expect(stdout).toContain('"object":"list"')
    expect(stdout).toContain('"receipt":{"held":1,"charged":1,"released":0,')
    expect(stdout.match(/"kind":"(charge|hold)"/g)).toEqual(['"kind":"charge"', '"kind":"hold"'])
    expect((await sharp(join(folder, 'aurora.png')).stats()).entropy).toBeGreaterThan(2)
    expect(readFileSync(join(folder, 'aurora.mp4')).subarray(4, 8).toString()).toBe('ftyp')
    // One of npm start, a picture and a film by mediagen, a picture by curl; what was sent again made none.
    expect(JSON.parse(stdout.slice(stdout.lastIndexOf('\n') + 1))).toMatchObject({ total: 4 })
    // Pasted once more, the lines begin another job: their key is the time.
    expect(pasted).toContain('key=aurora-$(date +%s)\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test.each(globSync(['*.md', 'docs/**/*.md'], { cwd: root }))(
  'the commands of %s can be pasted as they stand, into zsh, too',
  (path) => {
    const page = readFileSync(join(root, path), 'utf8')
    const lines = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, text = '']) => text.split('\n'))
    // A comment is an argument to an interactive zsh, and neither an ellipsis nor angle brackets can be sent.
    expect(lines.filter((line) => /(^|\s)#|…|<\w+>|\/path\/to/.test(line))).toEqual([])
  },
)

test('the model of docs/your-own-program.md works from any folder', async () => {
  const page = readFileSync(join(root, 'docs/your-own-program.md'), 'utf8')
  const [, catalog = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? []
  const [, program = ''] = /```python\n([\s\S]*?)```/.exec(page) ?? []
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-own-'))
  writeFileSync(join(folder, 'my-models.yaml'), catalog)
  writeFileSync(join(folder, 'tone.py'), program)
  try {
    await using app = await startTestApp({ MEDIAGEN_CATALOG: join(folder, 'my-models.yaml') })
    const { body: job } = await app.generate('acme/tone/text-to-audio', { hertz: 440 })
    expect(job).toMatchObject({ status: 'succeeded', billing: { charged: 2 } })
    expect(job.outputs).toMatchObject([{ content_type: 'audio/wav', duration_seconds: 2 }])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
