// docs/connect-a-model.md, followed to the letter: the files that it has one save, and its commands, in a folder that looks like
// a clone. Only ports are put in.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const page = readFileSync(join(root, 'docs/connect-a-model.md'), 'utf8')
const run = promisify(execFile)

/** The blocks of a language, in order. */
function blocksOf(language: string): string[] {
  return [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, text = '']) => text)
}

async function findPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return String(port)
}

/** Resolves with what a process has said once it matches. */
async function waitFor(child: ChildProcess, pattern: RegExp): Promise<string> {
  let said = ''
  const ended = once(child, 'close').then(() => Promise.reject(new Error(`it ended: ${said}`)))
  const seen = new Promise<string>((resolveSaid) => {
    const listen = (text: string): void => {
      said += text
      if (pattern.test(said)) resolveSaid(said)
    }
    child.stdout?.setEncoding('utf8').on('data', listen)
    child.stderr?.setEncoding('utf8').on('data', listen)
  })
  return Promise.race([seen, ended])
}

test('a newcomer who follows the page gets a picture', async () => {
  const [install = '', startUpstream = '', startServer = '', make = ''] = blocksOf('sh')
  expect(install).toBe('npm ci\n')
  const clone = mkdtempSync(join(tmpdir(), 'mediagen-connect-'))
  const [upstream, http, grpc] = [await findPort(), await findPort(), await findPort()]
  const children: ChildProcess[] = []
  const env = {
    HOME: clone,
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
    MEDIAGEN_HTTP_PORT: http,
    MEDIAGEN_GRPC_PORT: grpc,
  }
  const place = (text: string): string => text.replaceAll('9000', upstream)
  const start = (command: string): ChildProcess => {
    // A group of its own, because a shell and npm stand between.
    const child = spawn('sh', ['-ec', command], { cwd: clone, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    children.push(child)
    return child
  }
  try {
    for (const entry of readdirSync(root).filter((name) => !name.startsWith('.') && name !== 'data'))
      symlinkSync(join(root, entry), join(clone, entry))
    expect(page).toContain('Save it as `fake-upstream.mjs`')
    expect(page).toContain('Save it as `my-models.yaml`')
    const [script = ''] = blocksOf('js')
    expect(script.split('\n').filter((line) => line !== '').length).toBeLessThanOrEqual(10)
    writeFileSync(join(clone, 'fake-upstream.mjs'), place(script))
    writeFileSync(join(clone, 'my-models.yaml'), place(blocksOf('yaml')[0] ?? ''))

    start(startUpstream)
    await expect
      .poll(() =>
        fetch(`http://127.0.0.1:${upstream}`).then(
          ({ ok }) => ok,
          () => false,
        ),
      )
      .toBe(true)
    const said = await waitFor(start(startServer), /^API key +mgk_\w+$/m)
    expect(said).toMatch(/^The catalog is valid: \d+ models\.$/m)
    expect(said).toMatch(/^upstream +openai +yes +none +1 of 1 +-$/m)

    const { stdout, stderr } = await run('sh', ['-ec', make], {
      cwd: clone,
      env: { ...env, MEDIAGEN_URL: `http://127.0.0.1:${http}` },
    })
    expect(stderr).toMatch(/^5 credits$/m)
    expect(stdout).toMatch(/^files +boat\.webp$/m)
    expect(readFileSync(join(clone, 'boat.webp')).equals(readFileSync(join(root, 'docs/console.webp')))).toBe(true)
  } finally {
    for (const child of children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
      const ended = once(child, 'close')
      process.kill(-(child.pid as number), 'SIGKILL')
      await ended
    }
    rmSync(clone, { recursive: true, force: true })
  }
})
