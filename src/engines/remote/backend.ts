// The part of an engine that differs between kinds of providers; machine.ts does everything that they share.
import type { EngineRun, JsonObject, UpstreamCost, UpstreamVerdict, Usage } from '@mediagen/engine/engine.ts'
import type { Connection } from './connection.ts'
import type { Provider, RemoteSpec } from './provider.ts'

/** A submitted run, as its provider names it: an id and the URLs that it gave. No secrets, no signed URLs. */
export interface UpstreamRef extends JsonObject {
  id: string
}

/** An output: somewhere on the provider, or at hand, then with the `data:` URI that it was found as. */
export type Output = { readonly url: string } | { readonly data: Buffer; readonly uri?: string }

/** What a provider made. */
export interface UpstreamResult {
  readonly outputs: readonly Output[]
  readonly usage: Usage
  readonly cost: UpstreamCost | null
}

/** The state of a submitted run. */
export type Verdict =
  | { readonly state: 'waiting'; readonly progress?: number }
  | ({ readonly state: 'succeeded' } & UpstreamResult)
  | {
      readonly state: 'failed'
      readonly message: string
      readonly retryable?: boolean
      readonly cost?: UpstreamCost | null
    }
  | { readonly state: 'canceled' }
  /** The provider forgot it, and another submission costs nothing. */
  | { readonly state: 'gone' }

/** A request body, made before anything is submitted. */
export type UpstreamBody = JsonObject | readonly FormPart[]

/** A part of a multipart body. */
export type FormPart =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly file: Buffer; readonly fileName: string; readonly contentType: string }

/** A model at its provider. */
export interface Place {
  readonly spec: RemoteSpec
  readonly connection: Connection
}

/** What is known about a submission after a crash. */
export interface SubmissionNote {
  /** The mark by which the backend recognises the submission. */
  readonly key: string
  /** When the job was first submitted, in milliseconds since 1970. */
  readonly sinceMs: number
  /** The id that the provider sent to our callback. */
  readonly knownId: string | null
}

/** The data for the body of a submission. */
export interface Preparation extends Place {
  /** A lower-case UUID of this submission. */
  readonly uuid: string
  readonly run: Pick<EngineRun, 'input' | 'media' | 'signal'>
}

/** A submission. */
export interface Submission extends Place {
  readonly body: UpstreamBody
  readonly key: string
  /** How long the answer may take, in milliseconds. */
  readonly timeoutMs: number
  /** Until when the run may last, in milliseconds from now. */
  readonly leftMs: number
  /** Where the provider may report the end; null if nothing reaches this server. */
  readonly webhook: string | null
  /** Set only if the answer is the result: then giving up ends the run there too. */
  readonly signal?: AbortSignal
}

/** A question that costs nothing, which every server of a kind answers with a JSON object. */
export interface Greeting {
  readonly at: string
  /** Further statuses that only such a server gives. */
  readonly also?: readonly number[]
  /** Whether success shows that the key works; else a server may not have looked at it. */
  readonly provesKey?: boolean
  /** Statuses that refuse the key, beside 401 and 403. */
  readonly refuses?: readonly number[]
  /** Matches the message of a refusal that shows that the key is valid but lacks this permission. */
  readonly knowsKey?: RegExp
}

/** Callbacks of a watched run. */
export type Watched = Pick<EngineRun, 'folder' | 'onProgress' | 'preview'>

/** Hears of a run until it is disposed. */
export interface Watch extends AsyncDisposable {
  /** Called again and again while the run is waited for: begins to listen, and again after the connection broke. */
  renew(): void
}

/** A kind of provider. */
export interface Backend {
  readonly kind: string
  /** JSON Schema of its own settings of a model. */
  readonly properties: JsonObject
  readonly required: readonly string[]
  /** JSON Schema of what its providers have beside the settings of all. */
  readonly provider?: { readonly properties: JsonObject; readonly required: readonly string[] }
  /** Null if every provider of this kind names its own. */
  readonly baseUrl: string | null | ((provider: Provider) => string)
  /** The domain whose other hosts get the key too. */
  domain?(provider: Provider): string | undefined
  /** The headers that carry a key. */
  credentials(token: string, provider: Provider): Readonly<Record<string, string>>
  /** Whether the model costs nothing but time, so a submission whose outcome is unknown is repeated. */
  readonly free: boolean
  /** Whether the answer to the submission is the result. */
  blocks(spec: RemoteSpec): boolean
  /** Statuses that say that the provider is busy, beside 429. */
  readonly busy?: readonly number[]
  /** Why the settings of a model cannot be used; null if they can. Called when the catalog is loaded. */
  findFault?(spec: RemoteSpec): { readonly field: string; readonly words: string } | null
  /** Uploads media where it must, and makes the body. Nothing that costs money. */
  prepare(preparation: Preparation): Promise<UpstreamBody>
  /** The mark by which the submission is recognised later: an id of ours, or a digest of the request. */
  toKey(body: UpstreamBody, uuid: string): string
  /**
   * Makes the one request that may cost money.
   * @throws Refused, Unknown, Failed, PaidForNothing
   */
  submit(submission: Submission): Promise<UpstreamRef | UpstreamResult>
  /**
   * Hears how a submitted run goes on, for progress and drafts alone: nothing depends on it. Neither it nor what it returns
   * throws.
   */
  watch?(place: Place, ref: UpstreamRef, run: Watched): Watch
  /** Asks for the state. @throws NoVerdict if the answer says nothing about the run */
  look(place: Place, ref: UpstreamRef): Promise<Verdict>
  /**
   * Finds a submission whose answer was lost: the runs there that it may be. `absent` only if there certainly is none, or if
   * another one costs nothing. @throws NoVerdict
   */
  find(place: Place, note: SubmissionNote): Promise<readonly UpstreamRef[] | 'absent'>
  /** Ends the run there. Resolves with what it has come to. @throws NoVerdict to be asked again */
  cancel(place: Place, ref: UpstreamRef): Promise<UpstreamVerdict>
  /** How `providers check` asks a provider; absent if no question is free. */
  readonly greeting?: Greeting | ((provider: Provider) => Greeting)
  /** Null if the provider answers and has the model, as far as that can be asked for free; else why not. @throws NoVerdict */
  unready(place: Place): Promise<string | null>
  /** Whether that answer is the same for all models of a provider, so one of them is asked about. */
  readonly isReadyAsWhole?: true
}

/** A model or one of its fallbacks. */
export interface Candidate extends Place {
  readonly backend: Backend
}
