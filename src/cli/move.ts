// `move`: copies an installation to another database and another store of files.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { FilesLocation } from '../app/files.ts'
import type { DatabaseLocation } from '../app/operator/move.ts'
import { readConfig, settings } from '../config.ts'
import { systemClock } from '../core/clock.ts'
import { StartupError } from '../core/errors.ts'
import { print } from './user/print.ts'

interface MoveOptions {
  readonly toDatabase?: string
  readonly toFiles?: string
}

/** Adds the command. */
export function addMoveCommand(program: Command): void {
  program
    .command('move')
    .description(
      'Copy the installation of the settings, whole or not at all, and compare the copy. Stop its servers first; afterwards start them with the settings of the new one',
    )
    .option('--to-database <place>', 'where the database goes: `postgres://…`, or a folder for an SQLite file')
    .option('--to-files <place>', 'where the files go: `s3://bucket/prefix` (with the AWS_ variables), or a folder')
    .action(async ({ toDatabase, toFiles }: MoveOptions, command: Command) => {
      if (toDatabase === undefined && toFiles === undefined)
        throw new StartupError('Say where to: --to-database, --to-files or both.')
      const { createBlobs } = await import('../app/files.ts')
      const { moveInstallation } = await import('../app/operator/move.ts')
      const config = readConfig(process.env)
      const { dataDir, databaseUrl } = config
      const moved = await moveInstallation({
        database: {
          from: databaseUrl === null ? { dataDir } : { url: databaseUrl },
          to: toDatabase === undefined ? null : toPlace(toDatabase),
        },
        files: {
          from: createBlobs(config),
          to: toFiles === undefined ? null : createBlobs({ ...config, ...toFilesLocation(toFiles) }),
        },
        nowMs: systemClock.nowMs(),
      })
      print(
        {
          ...(moved.rows && {
            accounts: moved.rows.accounts,
            jobs: moved.rows.jobs,
            ledger_entries: moved.rows.ledger_entries,
            rows: Object.values(moved.rows).reduce((sum, rows) => sum + rows, 0),
          }),
          ...moved.files,
        },
        command.opts()['json'],
      )
    })
}

function toPlace(written: string): DatabaseLocation {
  return /^postgres(ql)?:\/\//.test(written) ? { url: written } : { dataDir: resolve(written) }
}

/** The settings of a place of files. */
function toFilesLocation(written: string): Pick<FilesLocation, 'filesUrl'> & Partial<Pick<FilesLocation, 'dataDir'>> {
  if (!written.startsWith('s3:')) return { filesUrl: null, dataDir: resolve(written) }
  try {
    return { filesUrl: settings.filesUrl.parse(written) }
  } catch (error) {
    throw new StartupError(`--to-files ${(error as Error).message}, but is "${written}".`)
  }
}
