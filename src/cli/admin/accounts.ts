// The operator's commands about accounts.
import { type Command, Option } from 'commander'
import { AccountSchema } from '../../../gen/mediagen/v1/admin_pb.ts'
import { toRecord } from '../../gateway/records.ts'
import { addWideOption, changing, looking, readAll } from './common/act.ts'
import { withExample } from './common/examples.ts'
import { findAccount } from './common/find-account.ts'
import {
  addLimitOptions,
  type LimitOptions,
  parseCredits,
  readLimitChange,
  warnOfUnmatched,
} from './common/limit-options.ts'
import { countAll, describeLimits, nameAccount } from './common/words.ts'

const columns = ['account_id', 'name', 'status', 'available', 'held', 'created_at', 'limits']

/** Adds the commands. */
export function addAccountCommands(parent: Command): void {
  const accounts = parent.command('accounts').description('Accounts, which own credits and API keys')
  withExample(accounts.command('create'), '--name "Press office" --credits 1000')
    .description('Create an account')
    .requiredOption('--name <name>', 'display name')
    .addOption(
      // With words of its own: the help writes defaults as JSON, which has no BigInt.
      new Option('--credits <credits>', 'initial credits').argParser(parseCredits).default(0n, '0'),
    )
    .action(
      changing(async ({ admin }, { name, credits }: { name: string; credits: bigint }, _command: Command) => {
        const { account } = await admin.createAccount({ name, credits })
        return {
          json: toRecord(AccountSchema, account),
          words: `Created the account ${nameAccount(account)}: ${countAll(credits, 'credit')} available.\n`,
        }
      }),
    )
  addLimitOptions(
    withExample(accounts.command('limit <account>'), '"Press office" --monthly 8000').description(
      'Change what an account may spend with all its keys together; `none` removes a limit',
    ),
  ).action(
    changing(async ({ admin, isHere }, written: string, options: LimitOptions, _command: Command) => {
      const change = readLimitChange(options)
      const accountId = await findAccount(admin, written)
      const { account, unmatchedModels } = await admin.changeAccountLimits({ accountId, ...change })
      await warnOfUnmatched(isHere, change.limits.models, unmatchedModels)
      const limits = describeLimits(account?.limits) || 'none'
      return {
        json: toRecord(AccountSchema, account),
        words: `Limits of ${nameAccount(account)}: ${limits}.\n`,
      }
    }),
  )
  addStatusCommands(accounts)
  addWideOption(withExample(accounts.command('list')).description('List accounts with their balances')).action(
    looking(async ({ admin }, _options: object, _command: Command) => {
      const all = await readAll('accounts', admin.listAccounts)
      const json = all.map((account) => toRecord(AccountSchema, account))
      const rows = json.map((record, index) => ({ ...record, limits: describeLimits(all[index]?.limits) }))
      return { json, rows, columns }
    }),
  )
}

/** What operators do to an account as a whole. */
function addStatusCommands(accounts: Command): void {
  withExample(accounts.command('rename <account>'), '"Press office" --name "Press"')
    .description('Change the name of an account')
    .requiredOption('--name <name>', 'new display name')
    .action(
      changing(async ({ admin }, written: string, { name }: { name: string }, _command: Command) => {
        const { account } = await admin.renameAccount({ accountId: await findAccount(admin, written), name })
        return { json: toRecord(AccountSchema, account), words: `The account is now ${nameAccount(account)}.\n` }
      }),
    )
  withExample(accounts.command('freeze <account>'), '"Press office" --reason "unpaid invoice 17"')
    .description('Freeze an account: it starts nothing and gets no keys; its jobs go on, and its keys still read')
    .requiredOption('--reason <text>', 'why; its owner reads it when a start is refused')
    .action(
      changing(async ({ admin }, written: string, { reason }: { reason: string }, _command: Command) => {
        const { account } = await admin.freezeAccount({ accountId: await findAccount(admin, written), reason })
        return {
          json: toRecord(AccountSchema, account),
          words: `Froze the account ${nameAccount(account)}: it starts nothing until “mediagen admin accounts unfreeze”.\n`,
        }
      }),
    )
  withExample(accounts.command('unfreeze <account>'), '"Press office" --reason "invoice 17 was paid"')
    .description('End the freeze of an account')
    .option('--reason <text>', 'why', '')
    .action(
      changing(async ({ admin }, written: string, { reason }: { reason: string }, _command: Command) => {
        const { account } = await admin.unfreezeAccount({ accountId: await findAccount(admin, written), reason })
        return {
          json: toRecord(AccountSchema, account),
          words: `The account ${nameAccount(account)} is active again.\n`,
        }
      }),
    )
  withExample(accounts.command('close <account>'), '"Press office" --reason "contract ended"')
    .description(
      'Close an account for ever and revoke its keys, once its jobs have ended; its balance stays in the ledger',
    )
    .requiredOption('--reason <text>', 'why')
    .action(
      changing(async ({ admin }, written: string, { reason }: { reason: string }, _command: Command) => {
        const accountId = await findAccount(admin, written)
        const { account, revokedKeys } = await admin.closeAccount({ accountId, reason })
        return {
          json: { ...toRecord(AccountSchema, account), revoked_keys: revokedKeys },
          words: `Closed the account ${nameAccount(account)} for ever, and revoked ${countAll(revokedKeys, 'key')}.\n`,
        }
      }),
    )
}
