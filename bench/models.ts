// GET /v1/models?limit=100 with 10,000 models against bare Fastify that sends the same bytes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask, createBenchAccount } from './accounts.ts'
import { type Bench, compareHttp, makeFolder, type Row, startBareFastify, toRow } from './bench.ts'
import { fireLarge } from './large-answers.ts'
import { startMediagen } from './servers.ts'

const path = '/v1/models?limit=100'
const modelCount = 10_000

/** Runs the benchmark. */
export async function benchModels(bench: Bench): Promise<readonly Row[]> {
  const dataDir = makeFolder(bench)
  const account = await createBenchAccount(dataDir)
  const catalog = join(dataDir, 'many.json')
  writeFileSync(catalog, JSON.stringify({ models: Array.from({ length: modelCount }, (_, number) => toEntry(number)) }))
  await using mediagen = await startMediagen(bench.cores, { MEDIAGEN_DATA_DIR: dataDir, MEDIAGEN_CATALOG: catalog })
  const answer = await ask(mediagen.httpUrl, account, path)
  const { total } = JSON.parse(answer) as { total: number }
  if (total < modelCount) throw new Error(`the catalog has ${total} models`)
  await using bare = await startBareFastify(bench, { method: 'GET', path: '/v1/models', status: 200, answer })
  const found = await compareHttp(bare, mediagen, { method: 'GET', path, headers: account.headers }, fireLarge)
  return [
    toRow('GET /v1/models, 10,000 : bare Fastify', 0.8, found),
    {
      what: 'start to ready, 10,000 models in JSON',
      value: `${(mediagen.startMs / 1000).toFixed(2)} s`,
      byCpu: '',
      target: '',
      reached: true,
      figures: '',
    },
  ]
}

function toEntry(number: number): object {
  return {
    id: `bench/model-${number}/text-to-image`,
    name: `Model ${number}`,
    description: 'Makes a picture from words, in the way that its number stands for, and takes as long as it takes.',
    category: 'text-to-image',
    modality: 'image',
    owned_by: 'bench',
    created: '2026-11-20',
    price: { credits: '1 + ceil(width / 1000)' },
    engine: { kind: 'builtin', renderer: 'art' },
    input: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt'],
      properties: {
        prompt: { type: 'string', minLength: 1, maxLength: 2000 },
        width: { type: 'integer', minimum: 64, maximum: 2048, default: 1024 },
      },
    },
  }
}
