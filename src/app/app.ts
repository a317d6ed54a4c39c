// The interface of a running server, and the parts that a test may replace.
import type { lookup } from 'node:dns'
import type { Worker } from 'node:worker_threads'
import type { Transport } from '@connectrpc/connect'
import type { Engine } from '@mediagen/engine/engine.ts'
import type { Logger } from 'pino'
import type { Clock } from '@mediagen/core/clock.ts'
import type { Secrets } from '@mediagen/backends/secrets.ts'
import type { Builtin } from './builtin.ts'
import type { Addresses } from './doors.ts'

/** A server that runs. */
export interface App extends Addresses, AsyncDisposable {
  /** To every service, in this process; calls carry a key as at the other doors. */
  readonly services: Transport
  /** To AdminService, without a key; null for a pure gateway. */
  readonly operator: Transport | null
}

/** Parts that a test may replace, or a command has already. */
export interface Overrides {
  /** The writer thread of SQLite, started ahead of time (writer-ahead.ts). */
  readonly writerThread?: Worker | undefined
  readonly clock?: Clock
  readonly log?: Logger
  /** The environment's secrets, which the log hides. Default: those of the process. */
  readonly secrets?: Secrets
  /** Engines beside those that ship. */
  readonly engines?: readonly Engine[]
  /** The built-in models; null for none. Default: those that are installed. */
  readonly builtin?: Builtin | null
  /** How the names are resolved that media are fetched from. */
  readonly resolve?: typeof lookup
}
