// Load over gRPC: a loop of grpc-js calls that hands over bytes as they are, so that the client costs little.
import * as grpc from '@grpc/grpc-js'
import { whileAwake } from './awake.ts'

const channels = 4
const callsAtOnce = 64

/** One unary call, made again and again. */
export interface GrpcRequest {
  readonly path: string
  readonly bytes: Buffer
  readonly metadata: Readonly<Record<string, string>>
}

/** Calls once; answers with the bytes of the response. @throws Error of grpc-js */
export async function callGrpc(address: string, request: GrpcRequest): Promise<Buffer> {
  const client = openChannel(address, 0)
  try {
    return await call(client, request, toMetadata(request))
  } finally {
    client.close()
  }
}

/** Calls for `seconds`; answers with how many responses came. @throws Error when any call failed */
export async function fireGrpc(address: string, request: GrpcRequest, seconds: number): Promise<number> {
  const clients = Array.from({ length: channels }, (_, number) => openChannel(address, number))
  const metadata = toMetadata(request)
  const until = performance.now() + seconds * 1000
  let answered = 0
  async function loop(client: grpc.Client): Promise<void> {
    while (performance.now() < until) {
      await call(client, request, metadata)
      answered += 1
    }
  }
  try {
    const loops = clients.flatMap((client) => Array.from({ length: callsAtOnce / channels }, () => loop(client)))
    await whileAwake(() => Promise.all(loops))
    return answered
  } finally {
    for (const client of clients) client.close()
  }
}

/** Channels with equal options share a connection; the number sets them apart. */
function openChannel(address: string, number: number): grpc.Client {
  return new grpc.Client(address, grpc.credentials.createInsecure(), { 'bench.channel': number })
}

function toMetadata(request: GrpcRequest): grpc.Metadata {
  const metadata = new grpc.Metadata()
  for (const [name, value] of Object.entries(request.metadata)) metadata.set(name, value)
  return metadata
}

const asTheyAre = (bytes: Buffer): Buffer => bytes

function call(client: grpc.Client, request: GrpcRequest, metadata: grpc.Metadata): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(request.path, asTheyAre, asTheyAre, request.bytes, metadata, (error, bytes) => {
      if (error || !bytes) reject(error ?? new Error('an answer without a message'))
      else resolve(bytes)
    })
  })
}
