// `backup` and `restore`: a whole installation in a folder, and back.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { readConfig } from '../../config.ts'
import { print, say } from '../user/print.ts'

/** Adds the commands. */
export function addBackupCommands(program: Command): void {
  program
    .command('backup <folder>')
    .description(
      'Back up the database and all files into a folder, while servers run; into the folder of an earlier backup only what is new is copied',
    )
    .action(async (folder: string, _options: object, command: Command) => {
      const { backUpInstallation } = await import('../../app/operator/backup/whole.ts')
      const done = await backUpInstallation(resolve(folder), readConfig(process.env), readVersion(command))
      const { created_at, migration, accounts, ledger_root, files, database } = done.manifest
      print(
        {
          created_at,
          database: database.kind,
          migration,
          accounts,
          ledger_root,
          files: files.count,
          bytes: files.bytes,
          files_copied: done.copied,
          ...(done.lost.length > 0 && { files_missing: done.lost }),
        },
        command.opts()['json'],
      )
      if (files.stay_in !== null)
        say(
          `The files stay in ${files.stay_in}, and are not in the backup: switch on versions there.\n`,
          process.stderr,
        )
      if (done.lost.length === 0) return
      say('The installation itself lacks files that its records name: see `mediagen doctor --files`.\n', process.stderr)
      process.exitCode = 1
    })
  program
    .command('restore <folder>')
    .description(
      'Restore a backup into the installation of the settings, which must be empty, then check the ledger and all files; exit status 1 if something is wrong',
    )
    .option('--check', 'only check that the backup is whole; nothing is restored')
    .action(async (folder: string, { check, json }: { check?: boolean; json?: boolean }) => {
      const from = resolve(folder)
      if (check) {
        const { checkBackup } = await import('../../app/operator/backup/restore.ts')
        const { created_at, migration, files } = await checkBackup(from)
        print({ created_at, migration, files: files.count, bytes: files.bytes, whole: true }, json)
        return
      }
      const { restoreInstallation } = await import('../../app/operator/backup/whole.ts')
      const { isWell, ...restored } = await restoreInstallation(from, readConfig(process.env))
      print(restored, json)
      if (!isWell) process.exitCode = 1
    })
}

/** The version of the program that a command belongs to. */
export function readVersion(command: Command): string {
  return command.parent ? readVersion(command.parent) : (command.version() ?? '')
}
