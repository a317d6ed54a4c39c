// The interface of a running server, and the parts that a test may replace.
import type { lookup } from 'node:dns'
import type { Transport } from '@connectrpc/connect'
import type { Engine } from '@mediagen/engine/engine.ts'
import type { Logger } from 'pino'
import type { Clock } from '../core/clock.ts'
import type { Secrets } from '../engines/secrets.ts'
import type { Threads } from '../storage/sqlite/threads/threads.ts'
import type { Builtin } from './builtin.ts'
import type { Addresses } from './doors/doors.ts'
import type { OpenTraces } from './observe/traces.ts'

/** A server that runs. */
export interface App extends Addresses, AsyncDisposable {
  /** To every service, in this process; calls carry a key as at the other doors. */
  readonly services: Transport
  /** To AdminService, without a key; null for a pure gateway. */
  readonly operator: Transport | null
  /** Which models were not ready at the start, a line for each provider. */
  readonly waiting: readonly string[]
}

/** Parts that a test may replace, or a command has already. */
export interface Overrides {
  /** Where SQLite reads and writes. Default: threads of its own. */
  readonly threads?: Threads | undefined
  readonly clock?: Clock
  readonly log?: Logger
  /** Closed with the server. Default: none with a log of one's own, else those of the settings. */
  readonly traces?: OpenTraces
  /** The environment's secrets, which the log hides. Default: those of the process. */
  readonly secrets?: Secrets
  /** Engines beside those that ship. */
  readonly engines?: readonly Engine[]
  /** The built-in models; null for none. Default: those that are installed. */
  readonly builtin?: Builtin | null
  /** How the names are resolved that media are fetched from. */
  readonly resolve?: typeof lookup
}
