// What the server and a renderer process say to each other over IPC.

import type { JsonObject, Usage } from '../../core/engine.ts'

/** From the server: render this. A process has one job at a time, so answers carry no id. */
export interface RenderRequest {
  readonly renderer: string
  /** Valid by the model's schema, defaults applied. */
  readonly input: JsonObject
  /** Where the outputs are to be left. */
  readonly folder: string
}

/** From the process to the server. */
export type RenderReply =
  | { readonly type: 'ready' }
  | { readonly type: 'progress'; readonly fraction: number }
  | { readonly type: 'memory'; readonly rssBytes: number }
  | { readonly type: 'done'; readonly files: readonly string[]; readonly usage: Usage }
  /** The renderer refused or failed in words that the owner of the job may read. */
  | { readonly type: 'failed'; readonly code: string; readonly message: string; readonly retryable: boolean }
  /** A bug in the renderer: for the log only. */
  | { readonly type: 'broken'; readonly stack: string }
