// POST /v1/generate, durable and not waited for, against bare Fastify that parses the same body and answers an equal one. Its keys
// are those of our clients, which begin with the time; random ones change a page each of the index that finds them.
import { randomUUID } from 'node:crypto'
import { noLimits } from '../src/core/accounts/limits.ts'
import { ask, createBenchAccount, order, quoteStart } from './accounts.ts'
import { type Bench, compareHttp, compareRequests, makeFolder, type Row, startBareFastify, toRow } from './bench.ts'
import { startMediagen } from './servers.ts'

const plenty = 1_000_000_000_000
const allLimits = {
  ...noLimits,
  perStart: plenty,
  daily: plenty,
  weekly: plenty,
  monthly: plenty,
  total: plenty,
  models: ['builtin/*'],
}

/** Runs the benchmark. */
export async function benchGenerate(bench: Bench): Promise<readonly Row[]> {
  const dataDir = makeFolder(bench)
  const account = await createBenchAccount(dataDir)
  const limited = await createBenchAccount(dataDir, null, allLimits)
  await using mediagen = await startMediagen(bench.cores, {
    MEDIAGEN_DATA_DIR: dataDir,
    MEDIAGEN_ROLES: 'api',
    MEDIAGEN_MAX_QUEUED_JOBS: '1000000000',
  })
  const request = await quoteStart(mediagen.httpUrl, account, order)
  const { path } = request
  const answer: unknown = JSON.parse(await ask(mediagen.httpUrl, account, path, request.body))
  await using bare = await startBareFastify(bench, { method: 'POST', path, status: 202, answer })
  const found = await compareHttp(bare, mediagen, request)
  const random = await compareHttp(bare, mediagen, { ...request, idempotencyKey: randomUUID })
  const limits = await compareRequests(mediagen, request, await quoteStart(mediagen.httpUrl, limited, order))
  return [
    toRow('POST /v1/generate : bare Fastify', 0.25, found),
    toRow('the same with random Idempotency-Keys', null, random),
    toRow('a key with every limit : one without', 0.9, limits),
  ]
}
