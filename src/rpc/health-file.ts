// The file of grpc.health.v1 as compilers write it, for reflection.
import { fromBinary } from '@bufbuild/protobuf'
import { type DescriptorProto, type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader'
import { protoPath } from 'grpc-health-check'

/**
 * Reads the file. protobufjs, which parses it, leaves names of types relative and calls the entries of a map as it
 * likes; strict clients such as buf and grpcurl then throw the whole file away.
 */
export function loadHealthFile(): FileDescriptorProto {
  const message = loadSync(protoPath)['grpc.health.v1.HealthCheckRequest'] as MessageTypeDefinition<object, object>
  const file = fromBinary(FileDescriptorProtoSchema, message.fileDescriptorProtos[0] ?? new Uint8Array())
  const scope = `.${file.package}`
  for (const message of file.messageType) nameMapEntries(message)
  const known = new Set(file.messageType.flatMap((message) => namesIn(message, scope)))
  for (const message of file.messageType) resolveTypes(message, scope, known)
  return file
}

/** The entries of the map `some_name` are `SomeNameEntry`. */
function nameMapEntries({ field, nestedType }: DescriptorProto): void {
  for (const entry of nestedType.filter(({ options }) => options?.mapEntry)) {
    const map = field.find(({ typeName }) => typeName === entry.name)
    if (!map) continue
    entry.name = `${map.name.replaceAll(/(?:^|_)(\w)/g, (_, first: string) => first.toUpperCase())}Entry`
    map.typeName = entry.name
  }
}

function namesIn({ name, nestedType, enumType }: DescriptorProto, scope: string): string[] {
  const own = `${scope}.${name}`
  return [own, ...enumType.map((type) => `${own}.${type.name}`), ...nestedType.flatMap((type) => namesIn(type, own))]
}

/** A relative name is looked for from the inside out. */
function resolveTypes(message: DescriptorProto, scope: string, known: ReadonlySet<string>): void {
  const own = `${scope}.${message.name}`
  for (const field of message.field) {
    if (field.typeName === '' || field.typeName.startsWith('.')) continue
    let around = own
    while (around !== '' && !known.has(`${around}.${field.typeName}`)) around = around.slice(0, around.lastIndexOf('.'))
    field.typeName = `${around}.${field.typeName}`
  }
  for (const nested of message.nestedType) resolveTypes(nested, own, known)
}
