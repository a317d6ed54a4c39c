// The records of the REST interface that the console reads, as /openapi.json describes them.

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
export type JsonObject = { [name: string]: Json }

export interface ListRecord<Item> {
  readonly data: readonly Item[]
  readonly total: number
  readonly has_more: boolean
}

export type Modality = 'image' | 'video' | 'audio'

export interface ModelRecord {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly category: string
  readonly product: string
  readonly mode: string
  readonly modality: Modality
  readonly pricing: { readonly billing: 'fixed' | 'usage'; readonly summary: string; readonly from_credits: number }
}

export interface ModelDetailRecord extends ModelRecord {
  readonly openapi: JsonObject
}

export interface ModeRecord {
  readonly mode: string
  readonly model: string
  readonly category: string
  readonly name: string
}

export interface ProductRecord {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly modality: Modality
  readonly modes: readonly ModeRecord[]
}

export interface CategoryRecord {
  readonly id: string
  readonly name: string
  readonly count: number
}

/** An upload. */
export interface FileRecord {
  readonly file_id: string
  readonly url: string
  readonly content_type: string
  readonly bytes: number
  readonly expires_at: string
}

export interface QuoteRecord {
  readonly quote_id: string
  readonly model: string
  readonly credits: number
  readonly expires_at: string
}

export type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled' | 'expired' | 'needs_review'

export interface OutputRecord {
  /** Null once the file was removed. */
  readonly url: string | null
  readonly content_type: string
  readonly bytes: number
  readonly width: number | null
  readonly height: number | null
  readonly duration_seconds: number | null
  readonly preview_url: string | null
  readonly blurhash: string | null
  /** When the file is removed, or was; null if it is kept for ever. */
  readonly kept_until: string | null
}

export interface JobRecord {
  readonly job_id: string
  readonly status: JobStatus
  readonly model: string
  readonly quote_id: string
  readonly progress: number
  readonly credits: number
  readonly billing: {
    readonly quoted: number
    readonly held: number
    readonly charged: number
    readonly released: number
  }
  readonly outputs: readonly OutputRecord[]
  readonly error: { readonly code: string; readonly message: string; readonly retryable: boolean } | null
  readonly attempts: number
  readonly created_at: string
  readonly started_at: string | null
  readonly finished_at: string | null
  readonly queue_position: number | null
  /** A draft picture while it runs. */
  readonly preview_url: string | null
  /** Without large values, except in the answer for this job alone; null once it was removed. */
  readonly input: JsonObject | null
  /** The provider whose server made it; null before, and for what this server made itself. */
  readonly served_by: string | null
}

export interface WalletRecord {
  readonly available: number
  readonly held: number
}

export interface EntryRecord {
  readonly entry_id: string
  readonly kind: 'grant' | 'hold' | 'charge' | 'release' | 'adjust'
  readonly credits: number
  readonly job_id: string | null
  readonly available_after: number
  readonly held_after: number
  readonly note: string | null
  readonly created_at: string
}

/** A webhook endpoint. */
export interface WebhookRecord {
  readonly webhook_id: string
  readonly url: string
  readonly description: string | null
  /** When it answered that it is gone; null while it is in use. */
  readonly disabled_at: string | null
}

/** One event for one endpoint. */
export interface DeliveryRecord {
  readonly job_id: string
  readonly type: string
  readonly status: 'pending' | 'delivered' | 'failed'
  readonly attempts: readonly object[]
  /** Why it is not delivered yet, or was given up. */
  readonly error: string | null
  readonly created_at: string
}

/** An error of RFC 9457. */
export interface ProblemRecord {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: string
  readonly retryable: boolean
  readonly request_id: string
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[]
  readonly required?: number
  readonly available?: number
  readonly permission?: string
}
