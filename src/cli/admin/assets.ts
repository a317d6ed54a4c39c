// The operator's commands about files: disk usage, the removal of expired files and orphans, and the key of their URLs.
import type { Command } from 'commander'
import { SweepFilesResponseSchema } from '../../../gen/mediagen/v1/admin_pb.ts'
import { escapeHidden } from '../../core/text/hidden-characters.ts'
import { toRecord } from '../../gateway/records.ts'
import { addWideOption, changing, looking } from './common/act.ts'
import { withExample } from './common/examples.ts'
import { readAccountNames, withAccounts } from './common/find-account.ts'
import { countAll, toSize } from './common/words.ts'

const columns = ['account', 'kind', 'files', 'size']

/** Adds the commands. */
export function addAssetCommands(parent: Command): void {
  const assets = parent.command('assets').description('Files of jobs and uploads')
  addWideOption(withExample(assets.command('usage')))
    .description(
      'Show disk usage by account and kind: outputs with their previews, uploads, expired (not removed yet), orphans (files that belong to no job or upload)',
    )
    .action(
      looking(async ({ admin }, _options: object, _command: Command) => {
        const { usage } = await admin.measureFiles({})
        const json = usage.map(({ accountId, kind, files, bytes }) => ({
          account_id: accountId || null,
          kind,
          files: Number(files),
          bytes: Number(bytes),
        }))
        const rows = json.map((row) => ({ ...row, size: toSize(row.bytes) }))
        return { json, rows: withAccounts(rows, await readAccountNames(admin)), columns }
      }),
    )
  withExample(assets.command('sweep'), '--dry-run')
    .description('Remove expired files, and files that belong to nothing and were not written to for an hour')
    .option('--dry-run', 'only print what would be removed')
    .action(
      changing(async ({ admin }, { dryRun = false }: { dryRun?: boolean }, _command: Command) => {
        const swept = await admin.sweepFiles({ dryRun })
        const { expiredFiles, expiredBytes, orphanedFiles, orphanedBytes, notRemoved } = swept
        if (notRemoved.length > 0) process.exitCode = 1
        const expired = `${countAll(expiredFiles, 'expired file')} (${toSize(expiredBytes)})`
        const orphans = `${countAll(orphanedFiles, 'file')} that belonged to nothing (${toSize(orphanedBytes)})`
        const failures = notRemoved.map((one) => `  not removed: ${escapeHidden(one)}\n`)
        return {
          json: { dry_run: dryRun, ...toRecord(SweepFilesResponseSchema, swept) },
          words: `${dryRun ? 'Would remove' : 'Removed'} ${expired} and ${orphans}.\n${failures.join('')}`,
        }
      }),
    )
  withExample(assets.command('rotate-key'), '--revoke')
    .description('Sign new URLs of files with a new key; existing URLs work until they expire')
    .option('--revoke', 'existing URLs stop working at once, everywhere within a second')
    .action(
      changing(async ({ admin }, { revoke = false }: { revoke?: boolean }, _command: Command) => {
        const { keyNumber } = await admin.rotateAssetKey({ revoke })
        const others = revoke ? 'existing ones stop working within a second' : 'existing ones work until they expire'
        return {
          json: { key_number: keyNumber },
          words: `New URLs of files are signed with key ${keyNumber}; ${others}.\n`,
        }
      }),
    )
}
