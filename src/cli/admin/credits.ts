// The operator's commands about credits.
import { type Command, InvalidArgumentError } from 'commander'
import { AccountSchema } from '../../../gen/mediagen/v1/admin_pb.ts'
import { toRecord } from '../../gateway/records.ts'
import { changing, toTime } from './common/act.ts'
import { withExample } from './common/examples.ts'
import { findAccount } from './common/find-account.ts'
import { parseCredits } from './common/limit-options.ts'
import { countAll, nameAccount, toNumber } from './common/words.ts'

interface Change {
  readonly account: string
  readonly credits: bigint
  readonly note: string
}

interface Grant extends Change {
  readonly reference: string
}

/** Adds the commands. */
export function addCreditCommands(parent: Command): void {
  const credits = parent.command('credits').description('Credits of accounts')
  withExample(credits.command('grant'), '--account "Press office" --credits 500 --reference pay_8f3a')
    .description('Give credits to an account')
    .requiredOption('--account <account>', 'account that receives them, by id or name')
    .requiredOption('--credits <credits>', 'number of credits', parseCredits)
    .option('--note <text>', 'reason, for the ledger', '')
    .option(
      '--reference <text>',
      'what pays for them, such as the id of a payment; a grant that is repeated with it is made once',
      '',
    )
    .action(
      changing(async ({ admin }, { account: written, reference, ...given }: Grant, _command: Command) => {
        const accountId = await findAccount(admin, written)
        const { account, entry, replayed } = await admin.grantCredits({ accountId, reference, ...given })
        const record = toRecord(AccountSchema, account)
        const name = nameAccount(account)
        const available = `${toNumber(account?.available ?? 0)} available`
        return {
          json: reference === '' ? record : { ...record, entry_id: entry?.entryId, reference, replayed },
          words: replayed
            ? `Granted before, ${toTime(entry?.createdAt)}; nothing was changed. ${name}: ${available}.\n`
            : `Granted ${countAll(given.credits, 'credit')} to ${name}: ${available}.\n`,
        }
      }),
    )
  withExample(credits.command('adjust'), '--account "Press office" --credits -20 --note "granted twice"')
    .description('Correct a balance up or down, never below zero')
    .requiredOption('--account <account>', 'account to correct, by id or name')
    .requiredOption('--credits <credits>', 'credits to add; a negative number removes credits', parseAdjustment)
    .requiredOption('--note <text>', 'reason, for the ledger')
    .action(
      changing(async ({ admin }, { account: written, credits: added, note }: Change, _command: Command) => {
        const accountId = await findAccount(admin, written)
        const { account } = await admin.adjustCredits({ accountId, credits: added, note })
        const change =
          added < 0n
            ? `Took ${countAll(-added, 'credit')} from ${nameAccount(account)}`
            : `Gave ${countAll(added, 'credit')} to ${nameAccount(account)}`
        return {
          json: toRecord(AccountSchema, account),
          words: `${change}: ${toNumber(account?.available ?? 0)} available.\n`,
        }
      }),
    )
}

function parseAdjustment(written: string): bigint {
  if (!/^[+-]?\d+$/.test(written))
    throw new InvalidArgumentError('It must be a whole number of credits, such as 5 or -5.')
  return BigInt(written)
}
