// The operator's commands about the ledger, and about the key that seals quotes.
import type { Command } from 'commander'
import { escapeHidden } from '../../core/text/hidden-characters.ts'
import { changing, looking } from './common/act.ts'
import { withExample } from './common/examples.ts'
import { countAll } from './common/words.ts'

/** Adds the commands. */
export function addLedgerCommands(parent: Command): void {
  const ledger = parent.command('ledger').description('Every change of every balance')
  withExample(ledger.command('verify'))
    .description(
      'Check that every credit of every account is accounted for and that no entry was changed; exit status 1 if not. Prints the root: a hash over the last entries of all accounts',
    )
    .option('--repair-plan', 'print how each problem could be repaired; nothing is changed')
    .action(
      looking(async ({ admin }, { repairPlan }: { repairPlan?: boolean }, _command: Command) => {
        const { accounts, entries, jobs, problems, repairs, root } = await admin.verifyLedger({})
        const isRight = problems.length === 0
        if (!isRight) process.exitCode = 1
        const plan = problems.map((problem, index) => ({ problem, repair: repairs[index] ?? '' }))
        const counts = { accounts: Number(accounts), entries: Number(entries), jobs: Number(jobs) }
        const verdict = isRight ? 'The ledger is in order' : 'The ledger is wrong'
        const checked = `${countAll(accounts, 'account')}, ${countAll(entries, 'entry', 'entries')}, ${countAll(jobs, 'job')}`
        const lines = plan.map(
          ({ problem, repair }) =>
            `  ${escapeHidden(problem)}\n${repairPlan ? `    repair: ${escapeHidden(repair)}\n` : ''}`,
        )
        return {
          json: { ok: isRight, ...counts, root, problems, ...(repairPlan && { repair_plan: plan }) },
          words: `${verdict}: checked ${checked}.\nroot ${root}\n${lines.join('')}`,
        }
      }),
    )
  const quotes = parent.command('quotes').description('The key that seals quotes')
  withExample(quotes.command('rotate-key'))
    .description('Seal new quotes with a new key; existing quotes stay valid until they expire')
    .action(
      changing(async ({ admin }, _options: object, _command: Command) => {
        const { keyNumber } = await admin.rotateQuoteKey({})
        return {
          json: { key_number: keyNumber },
          words: `New quotes are sealed with key ${keyNumber}; existing ones stay valid until they expire.\n`,
        }
      }),
    )
}
