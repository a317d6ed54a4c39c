// The entries under `providers:` of a catalog file: its server, the name of its key, and its limits.
import type { EngineSpec, JsonObject } from '@mediagen/engine/engine.ts'

/** A provider, as a catalog names it. */
export interface Provider {
  readonly name: string
  readonly kind: string
  readonly base_url?: string
  /** Name of the environment variable that holds the key. */
  readonly token_env?: string
  /** Name of the package of the AI SDK, without `@ai-sdk/`. */
  readonly package?: string
  /** Runs at a time, of all models and workers together. */
  readonly concurrency?: number
  /** Submissions a minute, of all models and workers together. */
  readonly per_minute?: number
}

/** The settings of a remote model; the catalog has replaced the name of the provider by its entry. */
export interface RemoteSpec extends EngineSpec {
  readonly provider: Provider
  /** Fields added to every input. */
  readonly defaults?: JsonObject
  readonly timeout_seconds?: number
  /** Tried in order when the one before refused for good or could not be reached. */
  readonly fallback?: readonly RemoteSpec[]
  /** Folder of the catalog file. */
  readonly base_folder: string
}
