// Shared by the operator's commands: AdminService over the data directory, reading whole lists, formatting values.
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import { type Client, createClient } from '@connectrpc/connect'
import { type Command, InvalidArgumentError } from 'commander'
import { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import { createLogger } from '../app/observe/log.ts'
import { createOperatorTransport, logActs } from '../app/operator/operator.ts'
import { openExistingStore } from '../app/store/store.ts'
import { readConfig } from '../config.ts'
import { pageBounds } from '../core/page.ts'
import { print, type Printed } from './user/print.ts'

/** A client of AdminService that needs no key. */
export type Admin = Client<typeof AdminService>

/**
 * The action of a command on the data directory that the settings name: prints the result of `run`, which gets the arguments
 * that commander gives to actions. Administrative acts are logged on standard error, unless that is a terminal.
 */
export function withAdmin<Given extends readonly unknown[]>(
  run: (admin: Admin, ...given: Given) => Promise<Printed | readonly Printed[] | undefined>,
): (...given: Given) => Promise<void> {
  return async (...given) => {
    const config = readConfig(process.env)
    const { logLevel } = config
    await using store = await openExistingStore(config)
    if (!process.stderr.isTTY) logActs(store, createLogger(logLevel, process.stderr))
    const answer = await run(createClient(AdminService, createOperatorTransport(store, config)), ...given)
    const command = given.at(-1) as Command
    if (answer) print(answer, command.opts()['json'])
  }
}

/** Reads all pages of a list; `name` is the field of a page that holds its items. */
export async function readAll<Name extends string, Page extends { total: number } & Record<Name, unknown[]>>(
  name: Name,
  list: (page: { limit: number; offset: number }) => Promise<Page>,
): Promise<Page[Name]> {
  const all = [] as unknown[] as Page[Name]
  while (true) {
    const page = await list({ limit: pageBounds.largestLimit, offset: all.length })
    all.push(...page[name])
    if (page[name].length === 0 || all.length >= page.total) return all
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
