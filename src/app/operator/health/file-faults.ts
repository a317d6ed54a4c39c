// Files that records name and that are not there, and with all files looked at those that no record names.
import { join } from 'node:path'
import type { Config } from '../../../config.ts'
import { surveyFolders } from '../../../core/jobs/retention.ts'
import type { Store } from '../../../core/store.ts'
import { createFilesFolders } from '../../../files/folders.ts'
import { listRecordedFiles } from '../../../storage/recorded-files.ts'
import { createBlobs } from '../../files.ts'
import { layOut } from '../../store/data-dir.ts'
import { checkFiles } from '../backup/check-files.ts'
import { toLocation } from '../backup/whole.ts'
import { openTables } from '../move.ts'
import type { Finding } from './finding.ts'

// Enough to notice that a folder is gone, and quick on any disk.
const sampleFiles = 1000
// Of many, the first say it all.
const mostShown = 10

/** Finds them. @param every whether all files are looked at, with their content */
export async function findFileFaults(store: Store, config: Config, every: boolean): Promise<Finding[]> {
  const blobs = createBlobs(config)
  const open = () => openTables(toLocation(config), false)
  const { wrong } = await checkAll()
  const still = wrong.length > 0 ? await listKeys() : new Set<string>()
  // A file may have gone the usual way meanwhile.
  const faults = wrong.filter(({ key }) => still.has(key))
  const findings = faults.slice(0, mostShown).map(({ key, owner, problem }) => ({
    check: 'files',
    problem: `${key} of ${owner}: ${problem}`,
    command:
      config.filesUrl === null
        ? `install -D -m 600 BACKUP/assets/${key} ${join(layOut(config.dataDir).assets, key)}`
        : `aws s3api list-object-versions --bucket ${config.filesUrl.bucket} --prefix ${config.filesUrl.prefix}${key}`,
  }))
  if (faults.length > mostShown) {
    const problem = `${faults.length - mostShown} more files are missing or wrong`
    findings.push({ check: 'files', problem, command: 'mediagen doctor --files --json' })
  }
  return every ? [...findings, ...(await findOrphans())] : findings

  async function checkAll() {
    const named = every ? 0 : (await listKeys()).size
    await using tables = await open()
    return await checkFiles(tables, blobs, { every: Math.max(1, Math.ceil(named / sampleFiles)), reads: every })
  }
  async function listKeys(): Promise<ReadonlySet<string>> {
    await using tables = await open()
    const keys = new Set<string>()
    for await (const { key } of listRecordedFiles(tables)) keys.add(key)
    return keys
  }
  async function findOrphans(): Promise<Finding[]> {
    let files = 0
    for await (const { owner, files: some } of surveyFolders(createFilesFolders(blobs, store), store))
      if (owner === null) files += some
    if (files === 0) return []
    return [{ check: 'files', problem: `${files} files belong to no record`, command: 'mediagen admin assets sweep' }]
  }
}
