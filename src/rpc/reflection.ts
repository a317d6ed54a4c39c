// Server reflection, v1 and v1alpha, which differ in their name: clients without a schema ask for it.
// https://github.com/grpc/grpc/blob/master/doc/server-reflection.md
import { type DescFile, type DescService, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { nestedTypes } from '@bufbuild/protobuf/reflect'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { Code, type ServiceImpl } from '@connectrpc/connect'
import type {
  ServerReflection,
  ServerReflectionRequest,
  ServerReflectionResponseSchema,
} from '../../gen/grpc/reflection/v1/reflection_pb.ts'

type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse']>
type Question = ServerReflectionRequest['messageRequest']

/**
 * Creates the service.
 * @param services what is listed; their files are told, and all that those import
 * @param files further files that are told of
 */
export function createReflectionService(
  services: readonly DescService[],
  files: readonly DescFile[] = [],
): ServiceImpl<typeof ServerReflection> {
  const schema = readSchema([...services.map(({ file }) => file), ...files])
  const names = services.map(({ typeName }) => ({ name: typeName }))

  function answer(question: Question): Answer {
    switch (question.case) {
      case 'listServices':
        return { case: 'listServicesResponse', value: { service: names } }
      case 'fileByFilename':
        return tellFile(schema.files.get(question.value), question.value)
      case 'fileContainingSymbol':
        return tellFile(schema.symbols.get(question.value), question.value)
      case 'fileContainingExtension': {
        const { containingType, extensionNumber } = question.value
        return tellFile(
          schema.extensions.get(containingType)?.get(extensionNumber),
          `${containingType} ${extensionNumber}`,
        )
      }
      case 'allExtensionNumbersOfType': {
        if (!schema.symbols.has(question.value)) return notFound(question.value)
        const extensionNumber = [...(schema.extensions.get(question.value)?.keys() ?? [])]
        return {
          case: 'allExtensionNumbersResponse',
          value: { baseTypeName: question.value, extensionNumber },
        }
      }
      case undefined:
        return toError(Code.InvalidArgument, 'The request asks for nothing that is known.')
    }
  }

  return {
    async *serverReflectionInfo(requests) {
      for await (const request of requests)
        yield {
          validHost: request.host,
          originalRequest: request,
          messageResponse: answer(request.messageRequest),
        }
    },
  }
}

interface Schema {
  readonly files: Map<string, DescFile>
  /** Files by the names that they declare. */
  readonly symbols: Map<string, DescFile>
  /** Files by the type that they extend and the number. */
  readonly extensions: Map<string, Map<number, DescFile>>
}

function readSchema(roots: readonly DescFile[]): Schema {
  const schema: Schema = { files: new Map(), symbols: new Map(), extensions: new Map() }
  for (const root of roots) for (const file of withImports(root)) readFile(schema, file)
  return schema
}

function readFile({ files, symbols, extensions }: Schema, file: DescFile): void {
  const name = `${file.name}.proto`
  if (files.has(name)) return
  files.set(name, file)
  for (const type of nestedTypes(file)) {
    symbols.set(type.typeName, file)
    if (type.kind === 'extension') {
      const { typeName } = type.extendee
      const numbers = extensions.get(typeName) ?? new Map<number, DescFile>()
      extensions.set(typeName, numbers.set(type.number, file))
      continue
    }
    if (type.kind === 'message') for (const field of type.fields) symbols.set(`${type.typeName}.${field.name}`, file)
    else if (type.kind === 'service')
      for (const method of type.methods) symbols.set(`${type.typeName}.${method.name}`, file)
    // Values stand beside their enum, not in it.
    else for (const value of type.values) symbols.set(type.typeName.replace(/[^.]+$/, value.name), file)
  }
}

/** A file behind all that it imports, each once. */
function withImports(file: DescFile, seen = new Set<DescFile>()): Set<DescFile> {
  for (const imported of file.dependencies) if (!seen.has(imported)) withImports(imported, seen)
  return seen.add(file)
}

/** The file itself comes first: clients that want one take that. */
function tellFile(file: DescFile | undefined, wanted: string): Answer {
  if (!file) return notFound(wanted)
  const fileDescriptorProto = [...withImports(file)]
    .toReversed()
    .map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto))
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto } }
}

function notFound(wanted: string): Answer {
  return toError(Code.NotFound, `${wanted} is not known.`)
}

function toError(errorCode: Code, errorMessage: string): Answer {
  return { case: 'errorResponse', value: { errorCode, errorMessage } }
}
