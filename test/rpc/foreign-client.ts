// A gRPC client that knows nothing of this project: grpc-js and proto-loader, its schema read from the server.
import * as grpc from '@grpc/grpc-js'
import { fromJSON, type MessageTypeDefinition, type PackageDefinition } from '@grpc/proto-loader'
import { openReflection, readSchema } from './reflection-client.ts'

/** What of a call may differ. */
export interface CallOptions {
  /** API key; null for none. Default: that of the client. */
  readonly key?: string | null
  readonly metadata?: Readonly<Record<string, string>>
  readonly deadlineMs?: number
}

/** A unary call with everything that came back. */
export interface Answer {
  // Tests look into answers at will.
  readonly message: any
  readonly header: grpc.Metadata
}

/** A refusal as a foreign client sees it. */
export class ForeignError extends Error {
  /** gRPC status by name. */
  readonly status: string
  /** The typed detail; null when there is none. */
  readonly detail: any
  readonly metadata: grpc.Metadata

  constructor(error: grpc.ServiceError, detail: unknown) {
    super(error.details)
    this.status = grpc.status[error.code] ?? String(error.code)
    this.detail = detail
    this.metadata = error.metadata
  }
}

/** Calls by name, such as `QuotesService/CreateQuote`. */
export interface ForeignClient extends Disposable {
  readonly schema: PackageDefinition
  /** Every rpc that the server declares in mediagen.v1. */
  readonly rpcs: readonly { readonly name: string; readonly streams: boolean; readonly uploads: boolean }[]
  call(rpc: string, request: object, options?: CallOptions): Promise<any>
  answer(rpc: string, request: object, options?: CallOptions): Promise<Answer>
  /** Settles with what a call was refused with; rejects when it went well. */
  refusal(rpc: string, request: object, options?: CallOptions): Promise<ForeignError>
  /** A unary call that can be canceled. */
  begin(rpc: string, request: object, options?: CallOptions): { call: grpc.ClientUnaryCall; done: Promise<Answer> }
  stream(rpc: string, request: object, options?: CallOptions): grpc.ClientReadableStream<any>
  /** A call that sends a stream; the caller writes and ends it. */
  beginUpload(rpc: string, options?: CallOptions): { call: grpc.ClientWritableStream<any>; done: Promise<any> }
  /** Sends a stream to its end. */
  upload(rpc: string, requests: Iterable<object>, options?: CallOptions): Promise<any>
  /** Reads a stream to its end. */
  readAll(rpc: string, request: object, options?: CallOptions): Promise<any[]>
  toForeignError(error: unknown): ForeignError
}

const detailType = 'mediagen.v1.ErrorDetail'
const bytes = { type: 'bytes', id: 2 }
const statusFields = {
  code: { type: 'int32', id: 1 },
  message: { type: 'string', id: 2 },
  details: { rule: 'repeated', type: 'Detail', id: 3 },
} as const
const statusTypes = fromJSON({
  nested: {
    Status: { fields: statusFields },
    Detail: { fields: { type_url: { type: 'string', id: 1 }, value: bytes } },
  },
})

/** Connects to a gRPC address such as `http://127.0.0.1:9090` and reads its schema. */
export async function openForeignClient(grpcUrl: string | null, defaultKey: string | null): Promise<ForeignClient> {
  const address = new URL(grpcUrl ?? '').host
  using reflection = openReflection(address)
  const names = (await reflection.listServices()).filter((name) => name.startsWith('mediagen.'))
  const schema = await readSchema(reflection, [...names, detailType])
  const connections = new Map<string, grpc.Client>()

  function findMethod(rpc: string): { client: grpc.Client; method: grpc.MethodDefinition<any, any> } {
    const [name = '', methodName = ''] = rpc.split('/')
    const service = schema[`mediagen.v1.${name}`] as unknown as grpc.ServiceDefinition | undefined
    const method = service?.[methodName]
    if (!service || !method) throw new Error(`the server declares no ${rpc}`)
    let client = connections.get(name)
    if (!client) connections.set(name, (client = new grpc.Client(address, grpc.credentials.createInsecure())))
    return { client, method }
  }

  function toMetadata({ key = defaultKey, metadata: more = {} }: CallOptions): grpc.Metadata {
    const metadata = new grpc.Metadata()
    if (key !== null) metadata.set('authorization', `Bearer ${key}`)
    for (const [name, value] of Object.entries(more)) metadata.set(name, value)
    return metadata
  }

  const toDeadline = ({ deadlineMs }: CallOptions) =>
    deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs }

  function toForeignError(thrown: unknown): ForeignError {
    const error = thrown as grpc.ServiceError
    const [packed] = error.metadata?.get('grpc-status-details-bin') ?? []
    if (!packed) return new ForeignError(error, null)
    const status: any = (statusTypes['Status'] as MessageTypeDefinition<object, object>).deserialize(packed as Buffer)
    const packedDetail = status.details.find(({ type_url }: { type_url: string }) =>
      type_url.endsWith(`/${detailType}`),
    )
    return new ForeignError(
      error,
      packedDetail
        ? (schema[detailType] as MessageTypeDefinition<object, object>).deserialize(packedDetail.value)
        : null,
    )
  }

  function begin(rpc: string, request: object, options: CallOptions = {}) {
    const { client, method } = findMethod(rpc)
    const { promise: done, resolve, reject } = Promise.withResolvers<Answer>()
    let header = new grpc.Metadata()
    const call = client.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      toMetadata(options),
      toDeadline(options),
      (error, message) => {
        if (error) reject(toForeignError(error))
        else resolve({ message, header })
      },
    )
    call.on('metadata', (received: grpc.Metadata) => {
      header = received
    })
    return { call, done }
  }

  function stream(rpc: string, request: object, options: CallOptions = {}): grpc.ClientReadableStream<any> {
    const { client, method } = findMethod(rpc)
    return client.makeServerStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      toMetadata(options),
      toDeadline(options),
    )
  }

  function beginUpload(rpc: string, options: CallOptions = {}) {
    const { client, method } = findMethod(rpc)
    const { promise: done, resolve, reject } = Promise.withResolvers<any>()
    const call = client.makeClientStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      toMetadata(options),
      toDeadline(options),
      (error, message) => (error ? reject(toForeignError(error)) : resolve(message)),
    )
    return { call, done }
  }

  function upload(rpc: string, requests: Iterable<object>, options?: CallOptions): Promise<any> {
    const { call, done } = beginUpload(rpc, options)
    for (const request of requests) call.write(request)
    call.end()
    return done
  }

  async function readAll(rpc: string, request: object, options?: CallOptions): Promise<any[]> {
    try {
      return await stream(rpc, request, options).toArray()
    } catch (error) {
      throw toForeignError(error)
    }
  }

  const rpcs = names.flatMap((name) =>
    Object.entries(schema[name] as unknown as grpc.ServiceDefinition).map(
      ([method, { responseStream, requestStream }]) => ({
        name: `${name.split('.').at(-1)}/${method}`,
        streams: responseStream,
        uploads: requestStream,
      }),
    ),
  )
  const isStream = (rpc: string): boolean => rpcs.some(({ name, streams }) => name === rpc && streams)
  const isUpload = (rpc: string): boolean => rpcs.some(({ name, uploads }) => name === rpc && uploads)

  return {
    schema,
    rpcs,
    begin,
    stream,
    beginUpload,
    upload,
    readAll,
    toForeignError,
    answer: (rpc, request, options) => begin(rpc, request, options).done,
    call: async (rpc, request, options) => (await begin(rpc, request, options).done).message,
    async refusal(rpc, request, options) {
      const outcome: Promise<unknown> = isStream(rpc)
        ? readAll(rpc, request, options)
        : isUpload(rpc)
          ? upload(rpc, [request], options)
          : begin(rpc, request, options).done
      return outcome.then(
        () => Promise.reject(new Error(`${rpc} was not refused`)),
        (error: ForeignError) => error,
      )
    },
    [Symbol.dispose]() {
      for (const client of connections.values()) client.close()
    },
  }
}

/** JSON as a google.protobuf.Struct, the way a client without protobuf-es has to write it: from descriptors, proto-loader sees maps as lists of entries. */
export function toStruct(object: object): object {
  return { fields: Object.entries(object).map(([key, value]) => ({ key, value: toValue(value) })) }
}

function toValue(value: unknown): object {
  if (value === null) return { null_value: 'NULL_VALUE' }
  if (typeof value === 'number') return { number_value: value }
  if (typeof value === 'string') return { string_value: value }
  if (typeof value === 'boolean') return { bool_value: value }
  return Array.isArray(value)
    ? { list_value: { values: value.map(toValue) } }
    : { struct_value: toStruct(value as object) }
}
