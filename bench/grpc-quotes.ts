// gRPC CreateQuote against bare grpc-js that reads the same message and answers an equal one.
import { create, toBinary } from '@bufbuild/protobuf'
import { QuotesService } from '../gen/mediagen/v1/quotes_pb.ts'
import { createBenchAccount, order } from './accounts.ts'
import { type Bench, makeFolder, type Row, toRow } from './bench.ts'
import { callGrpc, fireGrpc, type GrpcRequest } from './grpc-load.ts'
import { compare, type Side } from './rounds.ts'
import { type Server, startBaseline, startMediagen } from './servers.ts'

const { input, name, parent } = QuotesService.method.createQuote

/** Runs the benchmark. */
export async function benchGrpcQuotes(bench: Bench): Promise<readonly Row[]> {
  const dataDir = makeFolder(bench)
  const account = await createBenchAccount(dataDir)
  await using mediagen = await startMediagen(bench.cores, { MEDIAGEN_DATA_DIR: dataDir })
  const request: GrpcRequest = {
    path: `/${parent.typeName}/${name}`,
    bytes: Buffer.from(toBinary(input, create(input, order))),
    metadata: account.headers,
  }
  const answer = await callGrpc(mediagen.grpcAddress, request)
  await using echo = await startBaseline(bench.cores, 'baseline-grpc.ts', answer.toString('base64'))
  const toSide = (server: Server): Side => ({
    fire: (seconds) => fireGrpc(server.grpcAddress, request, seconds),
    cpuSeconds: () => server.cpuSeconds(),
  })
  return [toRow('gRPC CreateQuote : bare grpc-js', 0.55, await compare(toSide(echo), toSide(mediagen)))]
}
