// The operator's commands about API keys.
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { type Command, InvalidArgumentError } from 'commander'
import { type Key, KeySchema } from '../../../gen/mediagen/v1/admin_pb.ts'
import { isPermission, type Permission, permissions } from '../../core/accounts/key.ts'
import { toRecord } from '../../gateway/records.ts'
import { toPermissionCode } from '../../services/messages/convert.ts'
import type { Printed } from '../user/print.ts'
import { addWideOption, changing, looking, readAll } from './common/act.ts'
import { withExample } from './common/examples.ts'
import { findAccount, findAccountFilter, readAccountNames, withAccounts } from './common/find-account.ts'
import {
  addLimitOptions,
  type LimitOptions,
  readLimitChange,
  readLimitOptions,
  warnOfUnmatched,
} from './common/limit-options.ts'
import { describeLimits, nameKey } from './common/words.ts'

const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const longestLifeMs = 36_500 * 86_400_000
const columns = ['key_id', 'name', 'account', 'state', 'last_used_at']

interface KeyOptions extends LimitOptions {
  readonly account: string
  readonly permissions: readonly Permission[]
  readonly name: string
  readonly expiresIn?: number
  readonly json?: boolean
}

/** Adds the commands. */
export function addKeyCommands(parent: Command): void {
  const keys = parent.command('keys').description('API keys')
  const create = withExample(
    keys.command('create'),
    '--account "Press office" --permissions generate,models:read,jobs:read --name "print shop"',
  )
    .description(
      'Create an API key and print its text alone, which is shown only this once: KEY=$(mediagen admin keys create …)',
    )
    .requiredOption('--account <account>', 'account that the key belongs to, by id or name')
    .requiredOption(
      '--permissions <list>',
      `permissions, separated by commas: ${permissions.join(', ')}`,
      parsePermissions,
    )
    .option('--name <name>', 'what you call it, for example the program that uses it', '')
    .option('--expires-in <time>', 'lifetime of the key, for example 30d, 12h, 90m', parseDuration)
  addLimitOptions(create).action(
    changing(async ({ admin, isHere }, options: KeyOptions, _command: Command) => {
      const { limits } = readLimitOptions(options)
      const { key, secret, unmatchedModels } = await admin.createKey({
        accountId: await findAccount(admin, options.account),
        permissions: options.permissions.map(toPermissionCode),
        name: options.name,
        limits,
        ...(options.expiresIn !== undefined && { expiresAt: timestampFromMs(Date.now() + options.expiresIn) }),
      })
      await warnOfUnmatched(isHere, limits.models, unmatchedModels)
      const { permissions: given } = options
      if (given.includes('generate') && !given.includes('jobs:read'))
        process.stderr.write(
          'This key can start generations, but not wait for them or list them: that needs jobs:read as well.\n',
        )
      return { json: { key: secret, ...toPrintedKey(key) }, words: `${secret}\n` }
    }),
  )
  addWideOption(
    withExample(keys.command('list'), '--account "Press office"')
      .description('List API keys, without their text')
      .option('--account <account>', 'only keys of this account, by id or name'),
  ).action(
    looking(async ({ admin }, { account }: { account?: string }, _command: Command) => {
      const accountId = await findAccountFilter(admin, account)
      const all = await readAll('keys', (page) => admin.listKeys({ accountId, ...page }))
      const json = all.map(toPrintedKey)
      const rows = all.map((key) => ({
        ...toPrintedKey(key),
        limits: describeLimits(key.limits),
        state: describeState(key),
      }))
      return { json, rows: withAccounts(rows, await readAccountNames(admin)), columns }
    }),
  )
  addLimitOptions(
    withExample(keys.command('limit <key_id>'), 'key_01m81n3zks1aywd0zq8a2ay3fy --daily 300').description(
      'Change what a key may spend, from its next start on; `none` removes a limit',
    ),
  ).action(
    changing(async ({ admin, isHere }, keyId: string, options: LimitOptions, _command: Command) => {
      const change = readLimitChange(options)
      const { key, unmatchedModels } = await admin.changeKeyLimits({ keyId, ...change })
      await warnOfUnmatched(isHere, change.limits.models, unmatchedModels)
      const words = `Limits of the key ${nameKey(key)}: ${describeLimits(key?.limits) || 'none'}.\n`
      return { json: toPrintedKey(key), words }
    }),
  )
  withExample(keys.command('revoke <key_id>'), 'key_01m81n3zks1aywd0zq8a2ay3fy')
    .description('Revoke an API key and the keys that it made; they stop working everywhere within one second')
    .action(
      changing(async ({ admin }, keyId: string, _options: object, _command: Command) => {
        const { key } = await admin.revokeKey({ keyId })
        const words = `Revoked the key ${nameKey(key)}, and those that it made: they stop working within one second.\n`
        return { json: toPrintedKey(key), words }
      }),
    )
}

/** A key as commands print it. */
export function toPrintedKey(key: Key | undefined): Printed {
  const { key_id, name, prefix, last_used_at, limits, permissions, ...others } = toRecord(KeySchema, key)
  return { key_id, name, prefix, last_used_at, limits, permissions, ...others }
}

function describeState({ expiresAt, revokedAt }: Key): string {
  if (revokedAt) return 'revoked'
  return expiresAt && timestampMs(expiresAt) <= Date.now() ? 'expired' : 'works'
}

function parsePermissions(written: string): Permission[] {
  const names = written.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !isPermission(name))
  if (unknown !== undefined)
    throw new InvalidArgumentError(`"${unknown}" is not a permission; the permissions are ${permissions.join(', ')}.`)
  return names.filter(isPermission)
}

function parseDuration(written: string): number {
  const [, count = '0', unit = ''] = /^(\d+)([smhd])$/.exec(written) ?? []
  const ms = Number(count) * (unitsMs[unit] ?? 0)
  if (ms > longestLifeMs) throw new InvalidArgumentError('It must be at most 36500d, a hundred years.')
  if (ms === 0) throw new InvalidArgumentError('It must be a time such as 30d, 12h, 90m or 45s.')
  return ms
}
