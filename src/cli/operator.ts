// The operator's commands: accounts, keys, credits, ledger. They open the data directory themselves and work while the server runs.
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { type Command, InvalidArgumentError } from 'commander'
import type { Account, Key } from '../../gen/mediagen/v1/admin_pb.ts'
import { toPermissionCode, toPermissionName } from '../services/convert.ts'
import { isPermission, type Permission, permissions } from '../core/key.ts'
import { pageBounds } from '../core/page.ts'
import { parseCredits, readAll, toTime, withAdmin } from './admin.ts'
import { type Printed, printList, printRecord } from './print.ts'

const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const longestLifeMs = 36_500 * 86_400_000

/** Adds the commands. */
export function addOperatorCommands(program: Command): void {
  addAccountCommands(program)
  addKeyCommands(program)
  addMoneyCommands(program)
}

function addAccountCommands(program: Command): void {
  const accounts = program.command('accounts').description('Accounts, which own credits and API keys')
  accounts
    .command('create')
    .description('Create an account')
    .requiredOption('--name <name>', 'display name')
    .option('--credits <credits>', 'initial credits', parseCredits, 0n)
    .option('--json', 'print JSON')
    .action(({ name, credits, json }: { name: string; credits: bigint; json?: boolean }) =>
      withAdmin(async (admin) => {
        const { account } = await admin.createAccount({ name, credits })
        printRecord(toPrintedAccount(account), json === true)
      }),
    )
  accounts
    .command('list')
    .description('List accounts with their balances')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withAdmin(async (admin) => {
        const all = await readAll((offset) =>
          admin
            .listAccounts({ limit: pageBounds.largestLimit, offset })
            .then((page) => ({ items: page.accounts, total: page.total })),
        )
        printList(all.map(toPrintedAccount), json === true)
      }),
    )
}

function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('API keys')
  keys
    .command('create')
    .description('Create an API key and print its text, which is shown only this once')
    .requiredOption('--account <id>', 'account that the key belongs to')
    .requiredOption(
      '--permissions <list>',
      `permissions, separated by commas: ${permissions.join(', ')}`,
      parsePermissions,
    )
    .option('--expires-in <time>', 'lifetime of the key, for example 30d, 12h, 90m', parseDuration)
    .option('--json', 'print JSON')
    .action((options: { account: string; permissions: Permission[]; expiresIn?: number; json?: boolean }) =>
      withAdmin(async (admin) => {
        const expiresAt =
          options.expiresIn === undefined ? {} : { expiresAt: timestampFromMs(Date.now() + options.expiresIn) }
        const { key, secret } = await admin.createKey({
          accountId: options.account,
          permissions: options.permissions.map(toPermissionCode),
          ...expiresAt,
        })
        printRecord({ ...toPrintedKey(key), key: secret }, options.json === true)
      }),
    )
  keys
    .command('list')
    .description('List API keys, without their text')
    .option('--account <id>', 'only keys of this account')
    .option('--json', 'print JSON')
    .action(({ account = '', json }: { account?: string; json?: boolean }) =>
      withAdmin(async (admin) => {
        const all = await readAll((offset) =>
          admin
            .listKeys({ accountId: account, limit: pageBounds.largestLimit, offset })
            .then((page) => ({ items: page.keys, total: page.total })),
        )
        printList(all.map(toPrintedKey), json === true)
      }),
    )
  keys
    .command('revoke <key_id>')
    .description('Revoke an API key; it stops working everywhere within one second')
    .option('--json', 'print JSON')
    .action((keyId: string, { json }: { json?: boolean }) =>
      withAdmin(async (admin) => {
        const { key } = await admin.revokeKey({ keyId })
        printRecord(toPrintedKey(key), json === true)
      }),
    )
}

function addMoneyCommands(program: Command): void {
  const credits = program.command('credits').description('Credits of accounts')
  credits
    .command('grant')
    .description('Give credits to an account')
    .requiredOption('--account <id>', 'account that receives them')
    .requiredOption('--credits <credits>', 'number of credits', parseCredits)
    .option('--note <text>', 'reason, for the ledger', '')
    .option('--json', 'print JSON')
    .action((options: { account: string; credits: bigint; note: string; json?: boolean }) =>
      withAdmin(async (admin) => {
        const { account } = await admin.grantCredits({
          accountId: options.account,
          credits: options.credits,
          note: options.note,
        })
        printRecord(toPrintedAccount(account), options.json === true)
      }),
    )
  credits
    .command('adjust')
    .description('Correct a balance up or down, never below zero')
    .requiredOption('--account <id>', 'account to correct')
    .requiredOption('--credits <credits>', 'credits to add; a negative number removes credits', parseAdjustment)
    .requiredOption('--note <text>', 'reason, for the ledger')
    .option('--json', 'print JSON')
    .action((options: { account: string; credits: bigint; note: string; json?: boolean }) =>
      withAdmin(async (admin) => {
        const { account } = await admin.adjustCredits({
          accountId: options.account,
          credits: options.credits,
          note: options.note,
        })
        printRecord(toPrintedAccount(account), options.json === true)
      }),
    )
  program
    .command('ledger')
    .description('The ledger of all credits')
    .command('verify')
    .description('Check every invariant of the ledger over all data; exit status 1 if one is broken')
    .option('--repair-plan', 'print how each problem could be repaired; nothing is changed')
    .option('--json', 'print JSON')
    .action(({ json, repairPlan }: { json?: boolean; repairPlan?: boolean }) =>
      withAdmin(async (admin) => {
        const { accounts, entries, jobs, problems, repairs } = await admin.verifyLedger({})
        const plan = problems.map((problem, index) => ({ problem, repair: repairs[index] ?? '' }))
        printRecord(
          {
            ok: problems.length === 0,
            accounts: Number(accounts),
            entries: Number(entries),
            jobs: Number(jobs),
            problems,
            ...(repairPlan && json && { repair_plan: plan }),
          },
          json === true,
        )
        if (repairPlan && !json) printList(plan, false)
        if (problems.length > 0) process.exitCode = 1
      }),
    )
  program
    .command('quotes')
    .description('Quote sealing')
    .command('rotate-key')
    .description('Seal new quotes with a new key; existing quotes stay valid until they expire')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withAdmin(async (admin) => {
        const { keyNumber } = await admin.rotateQuoteKey({})
        printRecord({ key_number: keyNumber }, json === true)
      }),
    )
}

function toPrintedAccount(account: Account | undefined): Printed {
  return {
    account_id: account?.accountId,
    name: account?.name,
    available: Number(account?.available),
    held: Number(account?.held),
    created_at: toTime(account?.createdAt),
  }
}

function toPrintedKey(key: Key | undefined): Printed {
  return {
    key_id: key?.keyId,
    account_id: key?.accountId,
    permissions: key?.permissions.map(toPermissionName) ?? [],
    created_at: toTime(key?.createdAt),
    expires_at: toTime(key?.expiresAt),
    revoked_at: toTime(key?.revokedAt),
  }
}

function parseAdjustment(written: string): bigint {
  if (!/^[+-]?\d+$/.test(written))
    throw new InvalidArgumentError('It must be a whole number of credits, such as 5 or -5.')
  return BigInt(written)
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
