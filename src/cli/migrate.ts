// `migrate`: creates the database, or brings it to the schema of this version.
import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import { print } from './user/print.ts'

/** Adds the command. */
export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description(
      'Create the database, or update it to this version; `serve` and `demo` do so with SQLite when they start',
    )
    .action(async (_options: object, command: Command) => {
      const { describeDatabase, openStore } = await import('../app/store/store.ts')
      const config = readConfig(process.env)
      await (await openStore(config, { migrates: true })).close()
      print({ database: await describeDatabase(config) }, command.opts()['json'])
    })
}
