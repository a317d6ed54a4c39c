// Baseline: bare grpc-js that reads CreateQuote requests and answers each with the same message. Run by grpc-quotes.ts.
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import * as grpc from '@grpc/grpc-js'
import { QuotesService } from '../gen/mediagen/v1/quotes_pb.ts'

const { input, output, name, parent } = QuotesService.method.createQuote
const answer = fromBinary(output, Buffer.from(process.argv[2] ?? '', 'base64'))
const server = new grpc.Server()
const definition: grpc.MethodDefinition<unknown, unknown> = {
  path: `/${parent.typeName}/${name}`,
  requestStream: false,
  responseStream: false,
  requestSerialize: (message) => Buffer.from(toBinary(input, message as never)),
  requestDeserialize: (bytes) => fromBinary(input, bytes),
  responseSerialize: (message) => Buffer.from(toBinary(output, message as never)),
  responseDeserialize: (bytes) => fromBinary(output, bytes),
}
const handler: grpc.handleUnaryCall<unknown, unknown> = (_call, callback) => callback(null, answer)
server.addService({ [name]: definition }, { [name]: handler })
server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error
  process.stdout.write(`${JSON.stringify({ grpc_url: `http://127.0.0.1:${port}` })}\n`)
})
process.once('SIGTERM', () => process.exit(0))
