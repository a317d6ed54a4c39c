// POST /v1/quotes against bare Fastify that parses the same body and answers an equal one.
import { ask, createBenchAccount, order } from './accounts.ts'
import { type Bench, compareHttp, makeFolder, type Row, startBareFastify, toRow } from './bench.ts'
import { startMediagen } from './servers.ts'

const path = '/v1/quotes'

/** Runs the benchmark. */
export async function benchQuotes(bench: Bench): Promise<readonly Row[]> {
  const dataDir = makeFolder(bench)
  const account = await createBenchAccount(dataDir)
  await using mediagen = await startMediagen(bench.cores, { MEDIAGEN_DATA_DIR: dataDir })
  const answer: unknown = JSON.parse(await ask(mediagen.httpUrl, account, path, order))
  await using bare = await startBareFastify(bench, { method: 'POST', path, status: 200, answer })
  const found = await compareHttp(bare, mediagen, { method: 'POST', path, headers: account.headers, body: order })
  return [toRow('POST /v1/quotes : bare Fastify', 0.5, found)]
}
