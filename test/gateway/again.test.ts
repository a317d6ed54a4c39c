// What it takes to make a job's files again, and the archive of a job (P361, P362, P363, P364, P366, P367, P368).
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, EngineError, type JsonObject } from '@mediagen/engine/engine.ts'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../test-app.ts'
import { createDataDir } from '../test-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-again-'))
const picture = join(import.meta.dirname, '../models/picture.png')
/** The inputs of all runs. */
const runs: JsonObject[] = []
let failures = 0

/** Leaves the test picture; a prompt "fails" fails once, in a way that may pass. */
function createEngine(kind: string, more: Partial<Engine> = {}): Engine {
  return {
    kind,
    schema: { properties: { model: { type: 'string' } } },
    waits: () => false,
    unready: async () => null,
    afterLoss: () => 'again',
    async run(spec, { input, folder: open }) {
      runs.push(input)
      if (input['prompt'] === 'fails' && (failures += 1) === 1) throw new EngineError('once', 'It failed.', true)
      copyFileSync(picture, join(await open(), 'out.png'))
      return { files: ['out.png'], usage: {}, upstreamModel: (spec['model'] as string | undefined) ?? null }
    },
    close: async () => {},
    ...more,
  }
}
const engines = [createEngine('chance'), createEngine('exact', { reproducibleAs: '7' })]

const properties = {
  prompt: { type: 'string' },
  seed: { type: 'integer', minimum: 0 },
  size: { type: 'integer', default: 512 },
  image: { type: 'string', format: 'media' },
  images: { type: 'object', additionalProperties: { type: 'string', format: 'media' } },
}

interface Shape {
  readonly version?: string
  readonly size?: number
  readonly model?: string
  /** Whether inputs have a prompt alone. */
  readonly isBare?: boolean
}

function writeCatalog(name: string, { version, size = 512, model = 'up/paint', isBare = false }: Shape = {}): string {
  const entry = (id: string, engine: object, input: object) => ({
    id,
    name: 'Paint',
    description: 'Paints.',
    category: 'text-to-image',
    modality: 'image',
    owned_by: 'test',
    created: '2026-11-01',
    price: { credits: 1 },
    engine,
    ...(version !== undefined && { version }),
    input: { type: 'object', additionalProperties: false, properties: input },
  })
  const sized = isBare ? { prompt: properties.prompt } : { ...properties, size: { type: 'integer', default: size } }
  const { seed: _, ...seedless } = { seed: null, ...sized }
  const path = join(folder, name)
  const models = [
    entry('test/chance', { kind: 'chance', model }, sized),
    entry('test/exact', { kind: 'exact' }, sized),
    entry('test/seedless', { kind: 'chance', model }, seedless),
  ]
  writeFileSync(path, JSON.stringify({ models }))
  return `${path}:${join(import.meta.dirname, '../models/gate.yaml')}`
}

const app = await startTestApp({ MEDIAGEN_CATALOG: writeCatalog('models.json') }, { engines })
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

/** Runs a model to its end; the id of the job. */
async function make(model: string, input: object, server: TestApp = app): Promise<string> {
  const { status, body } = await server.generate(model, input)
  expect([status, body.status, body.input]).toEqual([200, 'succeeded', input])
  return body.job_id as string
}

const readAgain = async (jobId: string, server: TestApp = app) => {
  const { body } = await server.send(`/v1/jobs/${jobId}`)
  return {
    ...body.reproduction,
    codes: body.reproduction.not_guaranteed.map(({ code }: { code: string }) => code),
    sent: body.input,
  }
}

describe('the record of a job', () => {
  test('has the seed that the server chose, and the whole input; what was sent is echoed as it was', async () => {
    const jobId = await make('test/chance', { prompt: 'x' })
    const { input, seed, sent, codes, ...made } = await readAgain(jobId)
    expect(sent).toEqual({ prompt: 'x' })
    expect(input).toEqual({ prompt: 'x', size: 512, seed: expect.any(Number) })
    expect([seed, runs.at(-1)]).toEqual([input.seed, input])
    expect(made).toMatchObject({ version: null, engine: 'chance', provider_model: 'up/paint' })
    expect(codes).toEqual(['version_unknown', 'not_promised'])
    // Elsewhere the input is short, and so is what is said of it.
    const { body } = await app.send('/v1/jobs?limit=1')
    expect([body.data[0].reproduction, body.data[0].input]).toEqual([null, { prompt: 'x' }])
  })

  test('has the seed of the first run after others, and after repeated starts', async () => {
    const idempotencyKey = crypto.randomUUID()
    const { body } = await app.generate('test/chance', { prompt: 'fails' }, { idempotencyKey })
    const tried = runs.filter(({ prompt }) => prompt === 'fails')
    expect([body.status, body.attempts, tried.length]).toEqual(['succeeded', 2, 2])
    expect(tried[1]).toEqual(tried[0])
    const request = { model: 'test/chance', input: { prompt: 'fails' }, quote_id: body.quote_id }
    const headers = { 'idempotency-key': idempotencyKey }
    const again = await app.send('/v1/generate?wait=true', { headers, body: request })
    expect([again.status, again.body.job_id]).toEqual([200, body.job_id])
    expect((await readAgain(body.job_id)).seed).toBe(tried[0]?.['seed'])
  })

  test('promises what an engine makes equally, and says what a model without a seed does not', async () => {
    const exact = await readAgain(await make('test/exact', { prompt: 'x' }))
    expect(exact).toMatchObject({
      input: { prompt: 'x', size: 512 },
      seed: null,
      version: '7',
      engine: 'exact',
      codes: [],
    })
    expect((await readAgain(await make('test/exact', { seed: 3 }))).seed).toBe(3)
    expect((await readAgain(await make('test/seedless', { prompt: 'x' }))).codes).toEqual([
      'version_unknown',
      'no_seed',
    ])
  })

  test('says that its input was removed', async () => {
    const jobId = await make('test/exact', { prompt: 'x' })
    await app.send(`/v1/jobs/${jobId}`, { method: 'DELETE' })
    expect(await readAgain(jobId)).toMatchObject({ input: null, seed: null, engine: 'exact', codes: ['input_removed'] })
  })

  test('says what has changed since: the version, the provider’s model, the model; the defaults of its start stay', async () => {
    const dataDir = join(folder, 'data')
    await createDataDir(dataDir)
    const open = (name: string, shape?: Shape, settings = {}) =>
      startTestApp(
        { MEDIAGEN_CATALOG: writeCatalog(name, shape), MEDIAGEN_DATA_DIR: dataDir, ...settings },
        { engines },
      )
    const ids: string[] = []
    let queued = ''
    let key = ''
    {
      await using first = await open('first.json', { version: '1' })
      key = first.account.key
      ids.push(await make('test/chance', { prompt: 'x' }, first), await make('test/exact', { prompt: 'x' }, first))
      expect((await readAgain(ids[0] as string, first)).codes).toEqual(['not_promised'])
    }
    {
      await using idle = await open('first.json', { version: '1' }, { MEDIAGEN_ROLES: 'api' })
      queued = (
        await idle.generate('test/chance', { prompt: 'later' }, { wait: false, account: { accountId: '', key } })
      ).body.job_id
    }
    await using second = await open('second.json', { version: '2', size: 1024, model: 'up/paint-2' })
    const read = async (id: string) => (await second.send(`/v1/jobs/${id}`, { key })).body.reproduction
    await expect.poll(async () => (await read(queued)).engine).toBe('chance')
    expect(await read(queued)).toMatchObject({ version: '2', provider_model: 'up/paint-2', input: { size: 512 } })
    expect(runs.at(-1)).toMatchObject({ prompt: 'later', size: 512 })
    const [chance, exact] = [await read(ids[0] as string), await read(ids[1] as string)]
    expect([chance.version, chance.not_guaranteed[0]]).toEqual([
      '1',
      {
        code: 'engine_changed',
        detail: 'It was made by chance (up/paint); now it would be made by chance (up/paint-2).',
      },
    ])
    expect([exact.version, exact.not_guaranteed]).toEqual([
      '1',
      [{ code: 'version_changed', detail: 'It was made with version 1; the model has version 2 now.' }],
    ])
  })
})

test('a queued job whose defaults do not fit the model any more is made as it was sent, and its record names no seed', async () => {
  const dataDir = join(folder, 'narrowed')
  await createDataDir(dataDir)
  const open = (name: string, shape: Shape, roles: string) => {
    const settings = { MEDIAGEN_CATALOG: writeCatalog(name, shape), MEDIAGEN_DATA_DIR: dataDir, MEDIAGEN_ROLES: roles }
    return startTestApp(settings, { engines })
  }
  let key: string
  let jobId: string
  {
    await using before = await open('wide.json', {}, 'api')
    key = before.account.key
    jobId = (await before.generate('test/chance', { prompt: 'narrow' }, { wait: false })).body.job_id
    expect((await readAgain(jobId, before)).input).toMatchObject({
      prompt: 'narrow',
      size: 512,
      seed: expect.any(Number),
    })
  }
  await using after = await open('narrow.json', { isBare: true }, 'api,worker')
  const read = async () => (await after.send(`/v1/jobs/${jobId}`, { key })).body
  await expect.poll(async () => (await read()).status).toBe('succeeded')
  expect(runs.at(-1)).toEqual({ prompt: 'narrow' })
  const { reproduction } = await read()
  expect(reproduction).toMatchObject({
    input: { prompt: 'narrow' },
    seed: null,
    not_guaranteed: [{ code: 'not_recorded' }, {}],
  })
})

describe('the archive of a job', () => {
  /** The archive, unpacked by another program. */
  async function unpack(jobId: string, key = app.account.key): Promise<Record<string, Buffer>> {
    const answer = await fetch(`${app.url}/v1/jobs/${jobId}/bundle`, { headers: { authorization: `Bearer ${key}` } })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/zip'])
    expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="mediagen-${jobId}.zip"`)
    const [archive, into] = [join(folder, `${jobId}.zip`), join(folder, crypto.randomUUID())]
    writeFileSync(archive, Buffer.from(await answer.arrayBuffer()))
    const python = `import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; z.extractall(sys.argv[2]); print("\\n".join(z.namelist()))`
    const names = execFileSync('python3', ['-c', python, archive, into], { encoding: 'utf8' }).trim().split('\n')
    expect(new Set(names).size).toBe(names.length)
    return Object.fromEntries(names.map((name) => [name, readFileSync(join(into, name))]))
  }
  test('has its record, the input that makes it again, and its files', async () => {
    const jobId = await make('test/chance', { prompt: 'x' })
    const files = await unpack(jobId)
    expect(Object.keys(files)).toEqual(['record.json', 'input.json', 'outputs/1.png'])
    const { body } = await app.send(`/v1/jobs/${jobId}`)
    const record = JSON.parse(String(files['record.json']))
    expect(record).toMatchObject({ job_id: jobId, reproduction: body.reproduction, receipt: body.receipt })
    expect(JSON.parse(String(files['input.json']))).toEqual(body.reproduction.input)
    expect(files['outputs/1.png']).toEqual(readFileSync(picture))
    const head = await app.send(`/v1/jobs/${jobId}/bundle`, { method: 'HEAD' })
    expect([head.status, head.body]).toEqual([200, ''])
  })

  test('has the files of this server that its input refers to, under names that lead nowhere', async () => {
    const jobId = await make('test/exact', { prompt: 'earlier' })
    const { body: earlier } = await app.send(`/v1/jobs/${jobId}`)
    const file = await uploadPicture()
    const { url } = earlier.outputs[0]
    const images = { '../../../etc/passwd': url, '/root': file.url, 'a\\b': file.file_id, 'record.json': url }
    const made = await make('test/exact', { image: file.file_id, images })
    const files = await unpack(made)
    const names = Object.keys(files).filter((name) => name.startsWith('media/'))
    expect(names).toEqual([
      'media/1-image.png',
      'media/2-images-etc-passwd.png',
      'media/3-images-root.png',
      'media/4-images-a-b.png',
      'media/5-images-record-json.png',
    ])
    for (const name of names) expect(files[name]).toEqual(readFileSync(picture))
    expect(files['missing.txt']).toBeUndefined()
    // A key that may read jobs, and not uploads.
    const reader = await app.createKey(app.account.accountId, ['jobs:read'])
    const less = await unpack(made, reader)
    expect(String(less['missing.txt'])).toContain(
      'media/1-image: It is an upload: the key needs the permission generate.\n',
    )
    expect(less['media/2-images-etc-passwd.png']).toEqual(readFileSync(picture))
    expect(Object.keys(less).filter((name) => name.startsWith('media/'))).toHaveLength(2)

    await app.send(`/v1/files/${file.file_id}`, { method: 'DELETE' })
    await app.send(`/v1/jobs/${jobId}`, { method: 'DELETE' })
    const later = await unpack(made)
    expect(Object.keys(later)).toEqual(['record.json', 'input.json', 'outputs/1.png', 'missing.txt'])
    expect(String(later['missing.txt']).split('\n')).toEqual([
      'media/1-image: It was an upload, which has expired or was deleted.',
      'media/2-images-etc-passwd.png: It has expired, or was deleted.',
      'media/3-images-root: It was an upload, which has expired or was deleted.',
      'media/4-images-a-b: It was an upload, which has expired or was deleted.',
      'media/5-images-record-json.png: It has expired, or was deleted.',
      '',
    ])
    await app.send(`/v1/jobs/${made}`, { method: 'DELETE' })
    expect(Object.keys(await unpack(made))).toEqual(['record.json'])
  })

  test('is refused while the job has not ended, and is nothing to others', async () => {
    const gate = app.gate()
    const { body } = await app.generate('test/gate/text-to-image', gate.input, { wait: false })
    const early = await app.send(`/v1/jobs/${body.job_id}/bundle`)
    expect([early.status, early.body.code]).toEqual([409, 'job_not_ended'])
    expect(early.body.detail).toMatch(/is (queued|running)\. Its files can be had once it has ended\./)
    const { key } = await app.createAccount(0)
    const others = await app.send(`/v1/jobs/${body.job_id}/bundle`, { key })
    expect([others.status, others.body.code]).toEqual([404, 'job_not_found'])
    const blind = await app.createKey(app.account.accountId, ['generate'])
    expect((await app.send(`/v1/jobs/${body.job_id}/bundle`, { key: blind })).status).toBe(403)
    gate.open()
  })

  async function uploadPicture() {
    const answer = await fetch(`${app.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.account.key}`, 'content-type': 'image/png' },
      body: readFileSync(picture),
    })
    return (await answer.json()) as { file_id: string; url: string }
  }
})
