// A model of the catalog: its description, its input, its price and its engine.
import type { EngineSpec, JsonObject } from '@mediagen/engine/engine.ts'
import type { Violation } from '../core/errors.ts'
import type { UsagePrice } from '../core/jobs/job.ts'
import type { MediaReference } from '../files/media/reference.ts'
import type { Lifetime, ModelEnd } from './lifetime.ts'

/** What kind of media a model makes. */
export type Modality = 'image' | 'video' | 'audio'
export const modalities = ['image', 'video', 'audio'] as const satisfies readonly Modality[]

/** The result of validating an input: the input with defaults applied, or all violations. */
export type CheckedInput =
  | { readonly ok: true; readonly input: JsonObject }
  | { readonly ok: false; readonly violations: readonly Violation[] }

/** An output with the input that makes it. */
export interface Sample {
  /** What it shows, in words. */
  readonly title: string
  /** Valid by the schema; files are embedded. */
  readonly input: JsonObject
  /** A path of this server, `/samples/…`, or an `https:` URL. */
  readonly url: string
  readonly contentType: string
  /** In pixels; null if unknown. */
  readonly width: number | null
  readonly height: number | null
  readonly durationSeconds: number | null
  /** A picture of a film or sound, or a small one of a picture, as `url`. */
  readonly previewUrl: string | null
}

/**
 * What fields of OpenAI's interface mean to a model, by their names: the name of its own field, or what each value of OpenAI's
 * field sets.
 */
export type OpenaiFields = Readonly<Record<string, string | Readonly<Record<string, JsonObject>>>>

/** A catalog entry, ready to be used. */
export interface Model extends Lifetime {
  readonly id: string
  /** Other names, which only the doors of OpenAI's interface know. */
  readonly aliases: readonly string[]
  readonly product: string
  readonly mode: string
  readonly name: string
  readonly description: string
  readonly category: string
  readonly modality: Modality
  readonly ownedBy: string
  /** Milliseconds since 1970. */
  readonly createdAtMs: number
  /** IPTC's code of the digital source type of what it makes; null if nobody has said. */
  readonly sourceType: string | null
  readonly billing: 'fixed' | 'usage'
  /** The price in words. */
  readonly priceSummary: string
  /** Credits of the cheapest request. */
  readonly fromCredits: number
  readonly engine: EngineSpec
  /** Time limit of a run. */
  readonly timeoutMs: number
  /** Number of runs of a job that may be lost, or fail in a way that may pass, before it fails. */
  readonly maxAttempts: number
  /** Maximum number of concurrent jobs of this model on one worker. */
  readonly concurrency: number
  /** JSON Schema 2020-12 of the input. */
  readonly inputSchema: JsonObject
  readonly openaiFields: OpenaiFields
  readonly samples: readonly Sample[]
  /** Paths of the files that are served for samples, by their names. */
  readonly sampleFiles: ReadonlyMap<string, string>
  /** The OpenAPI 3.1 document whose one request body is `inputSchema`. */
  readonly openapi: JsonObject
  /** Validates an input; `input` itself is not changed. Pointers begin with `/input`. */
  checkInput(input: JsonObject): CheckedInput
  /** The references to media in a valid input: the values whose schema says `format: media`. */
  mediaOf(input: JsonObject): readonly MediaReference[]
  /** The field of the input that is its seed; null if it has none. */
  readonly seedField: string | null
  /** Whether equal inputs, seeds included, give equal files, as long as `runVersion` is the same. */
  readonly isReproducible: boolean
  /** Which version makes its files: its own, or that of an engine that is reproducible; null if nobody says. */
  readonly runVersion: string | null
  /** An input with defaults, and with a seed where its engine would choose one by chance. */
  completeSeed(sent: JsonObject, completed: JsonObject): JsonObject
  /** Credits to quote for an input with defaults applied; an upper bound when billed by usage. Throws PriceError. */
  quotedPrice(input: JsonObject): number
  /** What a job with this input, defaults applied, will cost by usage; null when the price is fixed. Stored with the job. */
  usagePrice(input: JsonObject): UsagePrice | null
}

/** All models that a server knows. */
export interface Catalog {
  /** Models whose engine is ready, in catalog order. */
  ready(): readonly Model[]
  /** Any model, ready or not. */
  find(id: string): Model | undefined
  /** Any model by its id or an alias. */
  resolve(name: string): Model | undefined
  /** Null when the model's engine is ready and the model has not ended, else why it is not. */
  unready(model: Model): string | null
  /** The end of a model that is near or over; null otherwise. */
  endOf(model: Model): ModelEnd | null
}
