// The operator's commands: accounts, keys, credits, ledger. They open the data directory themselves and work while the server runs.
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { type Command, InvalidArgumentError } from 'commander'
import type { Account, Key } from '../../gen/mediagen/v1/admin_pb.ts'
import { toPermissionCode, toPermissionName } from '../services/convert.ts'
import { isPermission, type Permission, permissions } from '../core/key.ts'
import { largestPage, parseCredits, readAll, toTime, withAdmin } from './admin.ts'
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
  const accounts = program.command('accounts').description('Accounts: who credits and keys belong to')
  accounts
    .command('create')
    .description('Create an account')
    .requiredOption('--name <name>', 'name for people')
    .option('--credits <credits>', 'credits to begin with', parseCredits, 0n)
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
            .listAccounts({ limit: largestPage, offset })
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
    .description('Create an API key; its text is shown this once')
    .requiredOption('--account <id>', 'account that it is to belong to')
    .requiredOption(
      '--permissions <list>',
      `what it may do, separated by commas: ${permissions.join(', ')}`,
      parsePermissions,
    )
    .option('--expires-in <time>', 'when it ends by itself, for example 30d, 12h, 90m', parseDuration)
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
            .listKeys({ accountId: account, limit: largestPage, offset })
            .then((page) => ({ items: page.keys, total: page.total })),
        )
        printList(all.map(toPrintedKey), json === true)
      }),
    )
  keys
    .command('revoke <key_id>')
    .description('Revoke an API key, within one second everywhere')
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
    .requiredOption('--account <id>', 'account that gets them')
    .requiredOption('--credits <credits>', 'how many', parseCredits)
    .option('--note <text>', 'why, for the ledger', '')
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
    .description('Correct a balance, upwards or downwards, never below zero')
    .requiredOption('--account <id>', 'account that is corrected')
    .requiredOption('--credits <credits>', 'credits to add, or with a minus sign to take', parseAdjustment)
    .requiredOption('--note <text>', 'why, for the ledger')
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
    .description('The record of all credits')
    .command('verify')
    .description('Check every invariant of the ledger over all data; exit status 1 when one is broken')
    .option('--repair-plan', 'print what could be done about each problem; nothing is changed')
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
    .description('Sealing of quotes')
    .command('rotate-key')
    .description('Seal new quotes with a new key; quotes made before stay valid until they expire')
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
    throw new InvalidArgumentError(`"${unknown}" is none; there are ${permissions.join(', ')}.`)
  return names.filter(isPermission)
}

function parseDuration(written: string): number {
  const [, count = '0', unit = ''] = /^(\d+)([smhd])$/.exec(written) ?? []
  const ms = Number(count) * (unitsMs[unit] ?? 0)
  if (ms > longestLifeMs) throw new InvalidArgumentError('It must be at most 36500d, a hundred years.')
  if (ms === 0) throw new InvalidArgumentError('It must be a time such as 30d, 12h, 90m or 45s.')
  return ms
}
