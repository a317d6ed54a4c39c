// The packages of the AI SDK that mediagen can use: where their providers are, how they take a key, and how they are loaded. They
// are optional, so each is loaded when it is first used.
import { EngineError, type JsonObject, type JsonValue } from '@mediagen/engine/engine.ts'
import type { Greeting, Place } from '../backend.ts'
import type { Provider, RemoteSpec } from '../provider.ts'
import type { Wire } from './ai-sdk-wire.ts'

/** What a model makes. */
export type Task = 'image' | 'video' | 'speech'

/** The version of the interface between the SDK and its packages that these types are part of. */
const specification = 'v4'

/** What the SDK says that it left out of a request. */
export interface Warning {
  readonly type: string
  readonly feature?: string
  readonly details?: string
  readonly message?: string
}

/** What `doGenerate` of a picture or of speech makes; the bytes of each file or its base64. */
export interface Made {
  readonly images?: readonly (string | Uint8Array)[]
  readonly audio?: string | Uint8Array
  readonly warnings: readonly Warning[]
  readonly usage?: { readonly inputTokens?: number; readonly outputTokens?: number; readonly totalTokens?: number }
  readonly providerMetadata?: JsonObject
}

/** What `doStatus` says of a film. */
export type Status =
  | { readonly status: 'pending' }
  | { readonly status: 'error'; readonly error: string }
  | {
      readonly status: 'completed'
      readonly videos: readonly { readonly url?: string; readonly data?: string | Uint8Array }[]
      readonly providerMetadata?: JsonObject
    }

/** A model of a package; a film has `doStart` and `doStatus`, everything else `doGenerate`. */
export interface SdkModel {
  readonly specificationVersion: string
  readonly maxImagesPerCall?: unknown
  readonly maxVideosPerCall?: unknown
  doGenerate(options: JsonObject): PromiseLike<Made>
  doStart(options: JsonObject): PromiseLike<{ readonly operation: JsonObject; readonly warnings: readonly Warning[] }>
  doStatus(options: { readonly operation: JsonValue | undefined }): PromiseLike<Status>
}

type CreateSdk = (settings: {
  readonly apiKey: string
  readonly baseURL: string
  readonly fetch: typeof fetch
}) => Readonly<Record<Task, (model: string) => SdkModel>>

/** A package. */
export interface SdkPackage {
  /** The version that the tests check. */
  readonly version: string
  /** Under which name its models read options of their own. */
  readonly options: string
  readonly tasks: readonly Task[]
  readonly baseUrl: string
  /** Its other hosts that take the key. */
  readonly domain?: string
  /** Its free request. */
  readonly greeting: Greeting
  credentials(token: string): Readonly<Record<string, string>>
  load(): Promise<unknown>
}

// Proxies may have no such route.
const asProxies = { also: [404, 405, 501], provesKey: true }

/** The packages, by their names without `@ai-sdk/`. */
export const packages: Readonly<Record<string, SdkPackage>> = {
  google: {
    version: '4.0.121',
    options: 'google',
    tasks: ['image', 'video'],
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    greeting: { at: '/models?pageSize=1', refuses: [400], ...asProxies },
    credentials: (token) => ({ 'x-goog-api-key': token }),
    load: async () => (await import('@ai-sdk/google')).createGoogle,
  },
  xai: {
    version: '5.0.12',
    options: 'xai',
    tasks: ['image', 'video'],
    baseUrl: 'https://api.x.ai/v1',
    // Every key may read its own record, whatever its other rights are.
    greeting: { at: '/api-key', refuses: [400], ...asProxies },
    credentials: (token) => ({ authorization: `Bearer ${token}` }),
    load: async () => (await import('@ai-sdk/xai')).createXai,
  },
  'black-forest-labs': {
    version: '2.0.41',
    options: 'blackForestLabs',
    tasks: ['image', 'video'],
    baseUrl: 'https://api.bfl.ai/v1',
    // Its answers name hosts such as api.us1.bfl.ai.
    domain: 'bfl.ai',
    greeting: { at: '/credits', ...asProxies },
    credentials: (token) => ({ 'x-key': token }),
    load: async () => (await import('@ai-sdk/black-forest-labs')).createBlackForestLabs,
  },
  elevenlabs: {
    version: '3.0.46',
    options: 'elevenlabs',
    tasks: ['speech'],
    baseUrl: 'https://api.elevenlabs.io',
    // A key may be for speaking alone.
    greeting: { at: '/v1/user', knowsKey: /missing the permission/, ...asProxies },
    credentials: (token) => ({ 'xi-api-key': token }),
    load: async () => (await import('@ai-sdk/elevenlabs')).createElevenLabs,
  },
}

/** The SDK wants a key and puts it into URLs. It gets this one, and our client sends the real one. */
export const noKey = 'mediagen-sends-the-key'

/** What the model makes. */
export function taskOf({ task }: RemoteSpec): Task {
  return task as Task
}

/** The package of a provider. */
export function packageOf({ package: name = '' }: Provider): SdkPackage {
  const found = packages[name]
  if (!found) throw new EngineError('provider_unreachable', `There is no package "${name}".`)
  return found
}

/** Maps the URLs of a package to the base URL of the provider: the package of ElevenLabs has no setting for it. */
export function toUrlOf({ spec, connection }: Place): (url: string) => string {
  const { baseUrl } = packageOf(spec.provider)
  return (url) => (url.startsWith(`${baseUrl}/`) ? connection.toUrl(url.slice(baseUrl.length)) : url)
}

/**
 * Opens the model.
 * @throws EngineError if the package is not installed, or has another version of the interface
 */
export async function openModel({ spec, connection }: Place, wire: Pick<Wire, 'fetch'>, task: Task): Promise<SdkModel> {
  const { package: name = '' } = spec.provider
  const create = await load(name)
  const settings = { baseURL: connection.toUrl(''), fetch: wire.fetch, apiKey: noKey }
  const opened = create(settings)[task]?.(String(spec['model']))
  if (opened?.specificationVersion === specification) return opened
  const found = opened ? `has version ${opened.specificationVersion} of its interface` : `has no models for ${task}`
  throw notReady(`the package @ai-sdk/${name}, as it is installed, ${found}`, name)
}

async function load(name: string): Promise<CreateSdk> {
  try {
    return (await packages[name]?.load()) as CreateSdk
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND'
    throw notReady(`the package @ai-sdk/${name} ${isMissing ? 'is not installed' : 'cannot be loaded'}`, name)
  }
}

function notReady(words: string, name: string): EngineError {
  const wanted = `@ai-sdk/${name}@${packages[name]?.version}`
  const remedy = `install ${wanted}, as docs/backends/ai-sdk.md says, and start the server again`
  return new EngineError('provider_unreachable', `${words}: ${remedy}`, true)
}
