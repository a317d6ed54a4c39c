// The operator's commands about files: disk usage, and the removal of expired files and orphans.
import type { Command } from 'commander'
import { withAdmin } from './admin.ts'
import { printList, printRecord } from './print.ts'

/** Adds the commands. */
export function addAssetCommands(program: Command): void {
  const assets = program.command('assets').description('Files on the disk: outputs and uploads')
  assets
    .command('usage')
    .description(
      'Show disk usage by account and kind: outputs with their previews, uploads, expired (not removed yet), orphans (named by no record)',
    )
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withAdmin(async (admin) => {
        const { usage } = await admin.measureFiles({})
        printList(
          usage.map(({ accountId, kind, files, bytes }) => ({
            account_id: accountId || null,
            kind,
            files: Number(files),
            bytes: Number(bytes),
          })),
          json === true,
        )
      }),
    )
  assets
    .command('sweep')
    .description('Remove expired files, and orphans that nothing was written to for an hour')
    .option('--dry-run', 'only print what would be removed')
    .option('--json', 'print JSON')
    .action(({ dryRun = false, json }: { dryRun?: boolean; json?: boolean }) =>
      withAdmin(async (admin) => {
        const swept = await admin.sweepFiles({ dryRun })
        printRecord(
          {
            dry_run: dryRun,
            expired_files: Number(swept.expiredFiles),
            expired_bytes: Number(swept.expiredBytes),
            orphaned_files: Number(swept.orphanedFiles),
            orphaned_bytes: Number(swept.orphanedBytes),
            not_removed: swept.notRemoved,
          },
          json === true,
        )
        if (swept.notRemoved.length > 0) process.exitCode = 1
      }),
    )
}
