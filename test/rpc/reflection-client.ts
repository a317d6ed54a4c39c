// A small client of server reflection: from an address to a schema, with nothing of this project's own.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import * as grpc from '@grpc/grpc-js'
import { loadFileDescriptorSetFromBuffer, loadSync, type PackageDefinition } from '@grpc/proto-loader'

/** The two versions of the protocol that clients speak. */
export type ReflectionVersion = 'v1' | 'v1alpha'

/** How messages look to the foreign client: snake_case, int64 as text, enums by name, unset fields with their defaults. */
export const foreignOptions = { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true } as const

/** Asks one question at a time. */
export interface ReflectionClient extends Disposable {
  listServices(): Promise<string[]>
  /** The serialized file that declares `symbol`, and whatever the server sends along. */
  filesOf(symbol: string): Promise<Buffer[]>
  file(name: string): Promise<Buffer[]>
}

interface ReflectionAnswer {
  readonly list_services_response: { readonly service: readonly { readonly name: string }[] } | null
  readonly file_descriptor_response: { readonly file_descriptor_proto: readonly Buffer[] } | null
  readonly error_response: { readonly error_code: number; readonly error_message: string } | null
}

const protocols = join(createRequire(import.meta.url).resolve('@grpc/reflection'), '../../proto/grpc/reflection')
const services = new Map<ReflectionVersion, any>()

/** The service of a version as grpc-js calls it, loaded once. */
function findService(version: ReflectionVersion): any {
  if (!services.has(version)) {
    const definition = loadSync(join(protocols, version, 'reflection.proto'), foreignOptions)
    services.set(version, (grpc.loadPackageDefinition(definition) as any).grpc.reflection[version].ServerReflection)
  }
  return services.get(version)
}

/** Opens a connection to the reflection service at `address` (`host:port`). */
export function openReflection(address: string, version: ReflectionVersion = 'v1'): ReflectionClient {
  const client = new (findService(version))(address, grpc.credentials.createInsecure())

  function ask(question: object): Promise<ReflectionAnswer> {
    return new Promise((resolve, reject) => {
      const call = client.ServerReflectionInfo()
      call.on('data', (answer: ReflectionAnswer) => {
        call.end()
        if (answer.error_response) reject(new Error(answer.error_response.error_message))
        else resolve(answer)
      })
      call.on('error', reject)
      call.write(question)
    })
  }

  return {
    listServices: async () =>
      ((await ask({ list_services: '*' })).list_services_response?.service ?? []).map(({ name }) => name),
    filesOf: async (symbol) => [
      ...((await ask({ file_containing_symbol: symbol })).file_descriptor_response?.file_descriptor_proto ?? []),
    ],
    file: async (name) => [
      ...((await ask({ file_by_filename: name })).file_descriptor_response?.file_descriptor_proto ?? []),
    ],
    [Symbol.dispose]: () => client.close(),
  }
}

// Every server of a file declares the same, and to make a schema of it takes as long as a server's start.
const schemas = new Map<string, PackageDefinition>()

/** Everything that the server declares of the named symbols, as proto-loader sees it; imports are followed by name. */
export async function readSchema(reflection: ReflectionClient, symbols: readonly string[]): Promise<PackageDefinition> {
  const files = new Map<string, Buffer>()
  const add = async (bytes: Buffer): Promise<void> => {
    const { name, dependency } = readFile(bytes)
    if (files.has(name)) return
    files.set(name, bytes)
    for (const needed of dependency)
      if (!files.has(needed)) for (const file of await reflection.file(needed)) await add(file)
  }
  for (const symbol of symbols) for (const file of await reflection.filesOf(symbol)) await add(file)
  const declared = Buffer.concat([...files.values()].map(toSetEntry))
  const id = declared.toString('latin1')
  const schema = schemas.get(id) ?? loadFileDescriptorSetFromBuffer(declared, foreignOptions)
  schemas.set(id, schema)
  return schema
}

/** Name and imports of a serialized FileDescriptorProto: its fields 1 and 3, both texts. */
function readFile(bytes: Buffer): { name: string; dependency: string[] } {
  let name = ''
  const dependency: string[] = []
  for (let at = 0; at < bytes.length;) {
    const tag = readVarint(bytes, at)
    const length = readVarint(bytes, tag.end)
    if ((tag.value & 7) !== 2) {
      at = length.end
      continue
    }
    const text = bytes.subarray(length.end, length.end + length.value)
    if (tag.value >> 3 === 1) name = text.toString()
    if (tag.value >> 3 === 3) dependency.push(text.toString())
    at = length.end + length.value
  }
  return { name, dependency }
}

function readVarint(bytes: Buffer, at: number): { value: number; end: number } {
  let value = 0
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++] ?? 0
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) return { value, end: at }
  }
}

/** A FileDescriptorProto as an element of a FileDescriptorSet, its field 1. */
function toSetEntry(bytes: Buffer): Buffer {
  const head = [0x0a]
  let rest = bytes.length
  for (; rest > 0x7f; rest >>>= 7) head.push((rest & 0x7f) | 0x80)
  return Buffer.concat([Buffer.from([...head, rest]), bytes])
}
