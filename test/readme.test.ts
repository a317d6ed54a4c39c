// The README's commands, run as they stand there.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { startTestApp } from './test-app.ts'

const root = resolve(import.meta.dirname, '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text as string)
const run = promisify(execFile)

/** Commands of a block, with the lines that continue them joined and comments dropped. */
function commandsOf(block: string): string[] {
  return block
    .replaceAll(/ *\\\n */g, ' ')
    .split('\n')
    .map((line) => line.replace(/ +#.*$/, '').trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
}

test('the first command of the README installs and starts, the second installs and tests', () => {
  expect(commandsOf(blocks[0] ?? '')).toEqual(['npm ci && npm start'])
  expect(commandsOf(blocks[1] ?? '')).toEqual(['npm ci && npm test'])
})

test('npm start makes a real picture and names its file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-readme-'))
  try {
    const env = {
      ...process.env,
      MEDIAGEN_DATA_DIR: folder,
      MEDIAGEN_HTTP_PORT: '0',
      MEDIAGEN_GRPC_PORT: '0',
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
    }
    const { stdout } = await run('npm', ['start', '--silent', '--', '--once'], { cwd: root, env })
    const [file] = /\S+\.png/.exec(stdout) ?? []
    expect(file, stdout).toBeDefined()
    // A picture of one colour has no entropy.
    expect((await sharp(resolve(root, file as string)).stats()).entropy).toBeGreaterThan(2)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the lines for curl and buf curl do what the README says', async () => {
  await using app = await startTestApp()
  const [restBlock = '', grpcBlock = ''] = blocks.slice(2)
  const settings = `MEDIAGEN_KEY=${app.account.key} api=${app.url}\nauth="Authorization: Bearer $MEDIAGEN_KEY" json="Content-Type: application/json"\n`
  const answer = async (command: string): Promise<any> => {
    const path = `${join(root, 'node_modules/.bin')}:${process.env['PATH']}`
    const line = settings + command.replace(/^curl /, 'curl -sS ').replace('npx @bufbuild/buf', 'buf')
    return JSON.parse((await run('sh', ['-ec', line], { env: { ...process.env, PATH: path } })).stdout)
  }
  const [models = '', model = '', quote = '', generate = ''] = commandsOf(restBlock).filter((line) =>
    line.startsWith('curl'),
  )
  expect((await answer(models)).data.map((entry: { id: string }) => entry.id)).toContain(
    'builtin/image/art/text-to-image',
  )
  expect(await answer(model)).toHaveProperty('openapi.paths')
  const quoted = await answer(quote)
  const job = await answer(generate.replace('quote_…', quoted.quote_id))
  expect(job).toMatchObject({ status: 'succeeded', credits: quoted.credits })
  const again = await answer(generate.replace('quote_…', quoted.quote_id))
  expect(again.job_id).toBe(job.job_id)

  const [create = ''] = commandsOf(grpcBlock)
  expect(await answer(create.replace('http://127.0.0.1:9090', app.app.grpcUrl ?? ''))).toHaveProperty('quote.quoteId')

  const [upload = '', film = ''] = commandsOf(blocks[4] ?? '')
  const photo = join(app.folder, 'photo.jpg')
  await sharp({ create: { width: 64, height: 48, channels: 3, background: '#345' } }).toFile(photo)
  const { file_id: image } = await answer(upload.replace('photo.jpg', photo))
  const { model: maker, input } = JSON.parse(/-d '(.*)'/.exec(film)?.[1] ?? '')
  const { quote_id } = await app.quote(maker, { ...input, image })
  const filmed = await answer(film.replace('file_…', image).replace('quote_…', quote_id))
  expect(filmed).toMatchObject({ status: 'succeeded', outputs: [{ content_type: 'video/mp4', width: 640 }] })
})
