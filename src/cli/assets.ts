// The operator's commands about files: disk usage, the removal of expired files and orphans, and the key of their URLs.
import type { Command } from 'commander'
import { SweepFilesResponseSchema } from '../../gen/mediagen/v1/admin_pb.ts'
import { toRecord } from '../gateway/records.ts'
import { withAdmin } from './admin.ts'

/** Adds the commands. */
export function addAssetCommands(program: Command): void {
  const assets = program.command('assets').description('Files on the disk: outputs and uploads')
  assets
    .command('usage')
    .description(
      'Show disk usage by account and kind: outputs with their previews, uploads, expired (not removed yet), orphans (files that belong to no job or upload)',
    )
    .action(
      withAdmin(async (admin) => {
        const { usage } = await admin.measureFiles({})
        return usage.map(({ accountId, kind, files, bytes }) => ({
          account_id: accountId || null,
          kind,
          files: Number(files),
          bytes: Number(bytes),
        }))
      }),
    )
  assets
    .command('sweep')
    .description('Remove expired files, and files that belong to nothing and were not written to for an hour')
    .option('--dry-run', 'only print what would be removed')
    .action(
      withAdmin(async (admin, { dryRun = false }: { dryRun?: boolean }) => {
        const swept = await admin.sweepFiles({ dryRun })
        if (swept.notRemoved.length > 0) process.exitCode = 1
        return { dry_run: dryRun, ...toRecord(SweepFilesResponseSchema, swept) }
      }),
    )
  assets
    .command('rotate-key')
    .description('Sign new URLs of files with a new key; existing URLs work until they expire')
    .option('--revoke', 'existing URLs stop working at once, everywhere within a second')
    .action(
      withAdmin(async (admin, { revoke = false }: { revoke?: boolean }) => ({
        key_number: (await admin.rotateAssetKey({ revoke })).keyNumber,
      })),
    )
}
