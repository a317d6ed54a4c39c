// gRPC reflection of our services and of the health service. Its libraries are loaded by the first call.
import { createRequire } from 'node:module'
import { type DescFile, type DescService, fromBinary, toBinary } from '@bufbuild/protobuf'
import { type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import type * as ProtoLoader from '@grpc/proto-loader'
import type * as Reflection from '@grpc/reflection'
import type * as HealthCheck from 'grpc-health-check'
import { file_mediagen_v1_errors } from '../../../gen/mediagen/v1/errors_pb.ts'

const require = createRequire(import.meta.url)

/** Creates the reflection of services, in the versions v1 and v1alpha. */
export function createReflection(services: readonly DescService[]): Reflection.ReflectionService {
  const { ReflectionService } = require('@grpc/reflection') as typeof Reflection
  const files = new Map<string, DescFile>()
  const collect = (file: DescFile): void => {
    if (files.has(file.name)) return
    for (const dependency of file.dependencies) collect(dependency)
    files.set(file.name, file)
  }
  for (const service of services) collect(service.file)
  // No service refers to this file: error details are packed into Any, and a client asks for their type by name.
  collect(file_mediagen_v1_errors)
  const fileDescriptorProtos = [...[...files.values()].map(({ proto }) => proto), readHealthFile()].map((proto) =>
    Buffer.from(toBinary(FileDescriptorProtoSchema, proto)),
  )
  // Reflection reads only the descriptors; `format` and `type` are ignored.
  return new ReflectionService({
    files: { format: 'Protocol Buffer 3 EnumDescriptorProto', type: {}, fileDescriptorProtos },
  })
}

const health = '.grpc.health.v1'
const fullNames: Readonly<Record<string, string>> = {
  Statuses: `${health}.HealthListResponse.StatusesEntry`,
  HealthCheckResponse: `${health}.HealthCheckResponse`,
  ServingStatus: `${health}.HealthCheckResponse.ServingStatus`,
}

/**
 * The file of grpc.health.v1, with full type names. protobufjs, which parses it, leaves type names relative and names map
 * entries differently; strict clients such as buf and grpcurl would reject the whole file.
 */
function readHealthFile(): FileDescriptorProto {
  const { loadSync } = require('@grpc/proto-loader') as typeof ProtoLoader
  const { protoPath } = require('grpc-health-check') as typeof HealthCheck
  const { fileDescriptorProtos } = loadSync(protoPath)[
    'grpc.health.v1.HealthCheckRequest'
  ] as ProtoLoader.MessageTypeDefinition<object, object>
  const file = fromBinary(FileDescriptorProtoSchema, fileDescriptorProtos[0] ?? new Uint8Array())
  for (const message of file.messageType.flatMap((message) => [message, ...message.nestedType])) {
    if (message.options?.mapEntry) message.name += 'Entry'
    for (const field of message.field) field.typeName = fullNames[field.typeName] ?? field.typeName
  }
  return file
}
