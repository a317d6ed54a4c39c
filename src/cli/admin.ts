// Shared by the operator's commands: AdminService over the data directory, reading whole lists, formatting values.
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import { type Client, createClient } from '@connectrpc/connect'
import { InvalidArgumentError } from 'commander'
import { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import { openStore } from '../app/store.ts'
import { pageBounds } from '../core/page.ts'
import { readConfig } from '../config.ts'
import { createLogger } from '../app/log.ts'
import { createOperatorTransport, logActs } from '../app/operator.ts'

/** A client of AdminService that needs no key. */
export type Admin = Client<typeof AdminService>

/** Runs a command on the data directory that the settings name. Administrative acts are logged on standard error. */
export async function withAdmin(run: (admin: Admin) => Promise<void>): Promise<void> {
  const { dataDir, logLevel } = readConfig(process.env)
  await using store = await openStore(dataDir)
  logActs(store, createLogger(logLevel, process.stderr))
  await run(createClient(AdminService, createOperatorTransport(store, dataDir)))
}

/** Reads all pages of a list. */
export async function readAll<Item>(
  readPage: (offset: number) => Promise<{ items: Item[]; total: number }>,
): Promise<Item[]> {
  const all: Item[] = []
  while (true) {
    const { items, total } = await readPage(all.length)
    all.push(...items)
    if (items.length === 0 || all.length >= total) return all
  }
}

/** A time as commands print it. */
export function toTime(time: Timestamp | undefined): string | null {
  return time ? new Date(timestampMs(time)).toISOString() : null
}

/** Credits of an option. */
export function parseCredits(written: string): bigint {
  if (!/^\d+$/.test(written)) throw new InvalidArgumentError('It must be a whole number of credits, 0 or more.')
  return BigInt(written)
}

/** Size of a page, of an option. */
export function parsePageLimit(written: string): number {
  const limit = Number(written)
  if (!/^\d+$/.test(written) || limit < 1 || limit > pageBounds.largestLimit)
    throw new InvalidArgumentError(`It must be a whole number, 1 to ${pageBounds.largestLimit}.`)
  return limit
}
