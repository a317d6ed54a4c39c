// Making a job again, and its archive, from the command line (P365, P366).
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { createDataDir } from '../test-store.ts'
import { openCommandLine } from './command-line.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-again-'))
afterAll(() => rmSync(folder, { recursive: true }))
const model = 'test/paint'

function writeCatalog(version: string): string {
  const path = join(folder, `${version}.json`)
  const properties = { prompt: { type: 'string' }, seed: { type: 'integer', minimum: 0 } }
  const entry = {
    id: model,
    name: 'Paint',
    description: 'Paints.',
    category: 'text-to-image',
    modality: 'image',
    owned_by: 'test',
    created: '2026-11-01',
    version,
    price: { credits: 1 },
    engine: { kind: 'null', picture: true },
    input: { type: 'object', properties },
  }
  writeFileSync(path, JSON.stringify({ models: [entry] }))
  return path
}

test('again has the model, the input, the seed and the labels of the job; another version is said before the start', async () => {
  const dataDir = join(folder, 'data')
  await createDataDir(dataDir)
  const open = (version: string) =>
    startTestApp({ MEDIAGEN_CATALOG: writeCatalog(version), MEDIAGEN_DATA_DIR: dataDir })
  await using line = openCommandLine({ XDG_CONFIG_HOME: folder })
  let key = ''
  let jobId = ''
  {
    await using app = await open('1')
    key = app.account.key
    const env = { MEDIAGEN_URL: app.url, MEDIAGEN_KEY: key }
    const print = async (args: readonly string[]) => JSON.parse((await line.run([...args, '--json'], env)).stdout)
    jobId = (await print(['generate', model, '--prompt', 'x', '--label', 'team=ads'])).job_id
    const { reproduction } = await print(['show', jobId])
    expect(reproduction.seed).toEqual(expect.any(Number))
    expect((await line.run(['show', jobId], env)).stdout).toMatch(/^seed +\d+\nversion +1\nengine +null$/m)
    const again = await line.run(['again', jobId, '-o', 'two.png', '--json'], env)
    expect([again.status, again.stderr]).toEqual([0, expect.stringContaining('does not promise equal files')])
    const made = await print(['show', JSON.parse(again.stdout).job_id])
    expect(made).toMatchObject({ input: { prompt: 'x', seed: reproduction.seed }, labels: { team: 'ads' } })
    expect(existsSync(join(line.folder, 'two.png'))).toBe(true)
    const listed = await print(['jobs', '--label', 'team:ads'])
    expect(listed.map(({ job_id }: { job_id: string }) => job_id)).toEqual([made.job_id, jobId])

    expect(await print(['bundle', jobId])).toEqual({ file: `mediagen-${jobId}.zip` })
    expect(readFileSync(join(line.folder, `mediagen-${jobId}.zip`), 'latin1')).toMatch(/^PK/)
    expect(existsSync(join(line.folder, `mediagen-${jobId}.zip.part`))).toBe(false)
    const nowhere = await line.run(['bundle', jobId, '-o', 'no/such/folder.zip'], env)
    expect([nowhere.status, nowhere.stderr]).toEqual([1, expect.stringContaining('no/such')])
  }
  await using app = await open('2')
  const env = { MEDIAGEN_URL: app.url, MEDIAGEN_KEY: key }
  const before = (await app.send('/v1/jobs', { key })).body.total
  const refused = await line.run(['again', jobId], env)
  expect([refused.status, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toContain('It was made with version 1; the model has version 2 now.\n')
  expect(refused.stderr).toContain('Nothing was started; --anyway makes it all the same.')
  expect((await app.send('/v1/jobs', { key })).body.total).toBe(before)
  expect((await line.run(['again', jobId, '--anyway'], env)).status).toBe(0)
  await line.run(['delete', jobId], env)
  const gone = await line.run(['again', jobId, '--anyway'], env)
  expect([gone.status, gone.stderr]).toEqual([1, expect.stringContaining('cannot be made again. Nothing was started.')])
})
