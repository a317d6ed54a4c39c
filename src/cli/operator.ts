// The operator's commands: accounts, keys, credits, ledger. They open the data directory themselves and work while the server runs.
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { AccountSchema, type Key, KeySchema, SessionSchema } from '../../gen/mediagen/v1/admin_pb.ts'
import { isPermission, type Permission, permissions } from '../core/accounts/key.ts'
import { escapeHidden } from '../core/text/hidden-characters.ts'
import { toRecord } from '../gateway/records.ts'
import { toPermissionCode } from '../services/messages/convert.ts'
import { parseCredits, readAll, toTime, withAdmin } from './admin.ts'
import {
  addLimitOptions,
  type LimitOptions,
  readLimitChange,
  readLimitOptions,
  warnOfUnmatched,
} from './limit-options.ts'
import { type Printed, say } from './user/print.ts'

const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const longestLifeMs = 36_500 * 86_400_000

/** Adds the commands. */
export function addOperatorCommands(program: Command): void {
  addAccountCommands(program)
  addKeyCommands(program)
  addSessionCommands(program)
  addMoneyCommands(program)
}

function addAccountCommands(program: Command): void {
  const accounts = program.command('accounts').description('Accounts, which own credits and API keys')
  accounts
    .command('create')
    .description('Create an account')
    .requiredOption('--name <name>', 'display name')
    .addOption(
      // With words of its own: the help writes defaults as JSON, which has no BigInt.
      new Option('--credits <credits>', 'initial credits').argParser(parseCredits).default(0n, '0'),
    )
    .action(
      withAdmin(async (admin, { name, credits }: { name: string; credits: bigint }) =>
        toRecord(AccountSchema, (await admin.createAccount({ name, credits })).account),
      ),
    )
  addLimitOptions(
    accounts
      .command('limit <account_id>')
      .description('Change what an account may spend with all its keys together; `none` removes a limit'),
  ).action(
    withAdmin(async (admin, accountId: string, options: LimitOptions) => {
      const change = readLimitChange(options)
      const { account } = await admin.changeAccountLimits({ accountId, ...change })
      await warnOfUnmatched(change.limits.models)
      return toRecord(AccountSchema, account)
    }),
  )
  accounts
    .command('list')
    .description('List accounts with their balances')
    .action(
      withAdmin(async (admin) =>
        (await readAll('accounts', admin.listAccounts)).map((account) => toRecord(AccountSchema, account)),
      ),
    )
}

function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('API keys')
  const create = keys
    .command('create')
    .description(
      'Create an API key and print its text alone, which is shown only this once: KEY=$(mediagen keys create …)',
    )
    .requiredOption('--account <id>', 'account that the key belongs to')
    .requiredOption(
      '--permissions <list>',
      `permissions, separated by commas: ${permissions.join(', ')}`,
      parsePermissions,
    )
    .option('--name <name>', 'what you call it, for example the program that uses it', '')
    .option('--expires-in <time>', 'lifetime of the key, for example 30d, 12h, 90m', parseDuration)
  addLimitOptions(create).action(
    withAdmin(async (admin, options: KeyOptions) => {
      const { limits } = readLimitOptions(options)
      const { key, secret } = await admin.createKey({
        accountId: options.account,
        permissions: options.permissions.map(toPermissionCode),
        name: options.name,
        limits,
        ...(options.expiresIn !== undefined && { expiresAt: timestampFromMs(Date.now() + options.expiresIn) }),
      })
      await warnOfUnmatched(limits.models)
      const { permissions: given } = options
      if (given.includes('generate') && !given.includes('jobs:read'))
        process.stderr.write(
          'This key can start generations, but not wait for them or list them: that needs jobs:read as well.\n',
        )
      if (options.json) return { key: secret, ...toPrintedKey(key) }
      process.stdout.write(`${secret}\n`)
      return undefined
    }),
  )
  keys
    .command('list')
    .description('List API keys, without their text')
    .option('--account <id>', 'only keys of this account', '')
    .action(
      withAdmin(async (admin, { account }: { account: string }) =>
        (await readAll('keys', (page) => admin.listKeys({ accountId: account, ...page }))).map(toPrintedKey),
      ),
    )
  addLimitOptions(
    keys
      .command('limit <key_id>')
      .description('Change what a key may spend, from its next start on; `none` removes a limit'),
  ).action(
    withAdmin(async (admin, keyId: string, options: LimitOptions) => {
      const change = readLimitChange(options)
      const { key } = await admin.changeKeyLimits({ keyId, ...change })
      await warnOfUnmatched(change.limits.models)
      return toPrintedKey(key)
    }),
  )
  keys
    .command('revoke <key_id>')
    .description('Revoke an API key and the keys that it made; they stop working everywhere within one second')
    .action(withAdmin(async (admin, keyId: string) => toPrintedKey((await admin.revokeKey({ keyId })).key)))
}

function addSessionCommands(program: Command): void {
  const sessions = program.command('sessions').description('Sessions of people who signed in')
  sessions
    .command('list')
    .description('List sessions, without their text')
    .option('--account <id>', 'only sessions of this account', '')
    .action(
      withAdmin(async (admin, { account: accountId }: { account: string }) =>
        (await readAll('sessions', (page) => admin.listSessions({ accountId, ...page }))).map((session) =>
          toRecord(SessionSchema, session),
        ),
      ),
    )
  sessions
    .command('revoke <session_id>')
    .description('End a session everywhere within one second; `keys revoke` keeps the person out')
    .action(
      withAdmin(async (admin, sessionId: string) =>
        toRecord(SessionSchema, (await admin.revokeSession({ sessionId })).session),
      ),
    )
  sessions
    .command('readmit <key_id>')
    .description('Let the person of a revoked key sign in again, as a new key')
    .action(withAdmin(async (admin, keyId: string) => toPrintedKey((await admin.readmitPerson({ keyId })).key)))
}

function addMoneyCommands(program: Command): void {
  const credits = program.command('credits').description('Credits of accounts')
  credits
    .command('grant')
    .description('Give credits to an account')
    .requiredOption('--account <id>', 'account that receives them')
    .requiredOption('--credits <credits>', 'number of credits', parseCredits)
    .option('--note <text>', 'reason, for the ledger', '')
    .option(
      '--reference <text>',
      'what pays for them, such as the id of a payment; a grant that is repeated with it is made once',
      '',
    )
    .action(
      withAdmin(async (admin, { account: accountId, credits: granted, note, reference }: Grant) => {
        const { account, entry, replayed } = await admin.grantCredits({ accountId, credits: granted, note, reference })
        const record = toRecord(AccountSchema, account)
        if (replayed) say(`Granted before, ${toTime(entry?.createdAt)}; nothing was changed.\n`, process.stderr)
        return reference === '' ? record : { ...record, entry_id: entry?.entryId, reference, replayed }
      }),
    )
  credits
    .command('adjust')
    .description('Correct a balance up or down, never below zero')
    .requiredOption('--account <id>', 'account to correct')
    .requiredOption('--credits <credits>', 'credits to add; a negative number removes credits', parseAdjustment)
    .requiredOption('--note <text>', 'reason, for the ledger')
    .action(
      withAdmin(async (admin, { account: accountId, ...change }: Change) =>
        toRecord(AccountSchema, (await admin.adjustCredits({ accountId, ...change })).account),
      ),
    )
  program
    .command('ledger')
    .description('Every change of every balance')
    .command('verify')
    .description(
      'Check that every credit of every account is accounted for and that no entry was changed; exit status 1 if not. Prints the root: a hash over the last entries of all accounts',
    )
    .option('--repair-plan', 'print how each problem could be repaired; nothing is changed')
    .action(
      withAdmin(async (admin, { json, repairPlan }: { json?: boolean; repairPlan?: boolean }) => {
        const { accounts, entries, jobs, problems, repairs, root } = await admin.verifyLedger({})
        const plan = problems.map((problem, index) => ({ problem, repair: repairs[index] ?? '' }))
        if (problems.length > 0) process.exitCode = 1
        const counts = { accounts: Number(accounts), entries: Number(entries), jobs: Number(jobs) }
        if (json)
          return { ok: problems.length === 0, ...counts, root, problems, ...(repairPlan && { repair_plan: plan }) }
        const verdict = problems.length === 0 ? 'The ledger is in order' : 'The ledger is wrong'
        const checked = Object.entries(counts).map(([name, count]) => `${count} ${count === 1 ? singular(name) : name}`)
        const lines = repairPlan ? [] : problems.map((problem) => `  ${escapeHidden(problem)}\n`)
        say(`${verdict}: checked ${checked.join(', ')}.\nroot ${root}\n${lines.join('')}`)
        return repairPlan ? plan : undefined
      }),
    )
  program
    .command('quotes')
    .description('The key that seals quotes')
    .command('rotate-key')
    .description('Seal new quotes with a new key; existing quotes stay valid until they expire')
    .action(withAdmin(async (admin) => ({ key_number: (await admin.rotateQuoteKey({})).keyNumber })))
}

function singular(name: string): string {
  return { accounts: 'account', entries: 'entry', jobs: 'job' }[name] ?? name
}

interface KeyOptions extends LimitOptions {
  readonly account: string
  readonly permissions: readonly Permission[]
  readonly name: string
  readonly expiresIn?: number
  readonly json?: boolean
}

interface Change {
  readonly account: string
  readonly credits: bigint
  readonly note: string
}

/** A table leaves out its last columns where a line is too short for all. */
function toPrintedKey(key: Key | undefined): Printed {
  const { key_id, name, prefix, last_used_at, limits, permissions, ...others } = toRecord(KeySchema, key)
  return { key_id, name, prefix, last_used_at, limits, permissions, ...others }
}

interface Grant extends Change {
  readonly reference: string
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
