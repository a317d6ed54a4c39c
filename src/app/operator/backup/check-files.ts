// Holds the stored files against the records that name them.
import { createHash } from 'node:crypto'
import type { Blobs } from '../../../files/blobs/blobs.ts'
import { listRecordedFiles } from '../../../storage/recorded-files.ts'
import type { TableSource } from '../../../storage/tables.ts'

/** What was found. */
export interface FilesReport {
  /** Files that were looked at. */
  readonly checked: number
  /** Files that records name. */
  readonly named: number
  /** Keys of files that are missing, of another size, or of other content, with the job or upload that they belong to. */
  readonly wrong: readonly { readonly key: string; readonly owner: string; readonly problem: string }[]
}

/** How much is looked at. */
export interface FilesCheck {
  /** Every how manyth file is looked at; 1 for all. */
  readonly every: number
  /** Whether their content is read, too. */
  readonly reads: boolean
}

const atOnce = 16

/** Checks. A file that went away because its record has changed since `tables` was opened is found missing, too. */
export async function checkFiles(
  tables: TableSource,
  blobs: Pick<Blobs, 'stat' | 'open'>,
  { every, reads }: FilesCheck,
): Promise<FilesReport> {
  const wrong: { key: string; owner: string; problem: string }[] = []
  const count = { checked: 0, named: 0 }
  const all = listRecordedFiles(tables)
  async function work(): Promise<void> {
    for (let next = await all.next(); !next.done; next = await all.next()) {
      count.named += 1
      if ((count.named - 1) % every !== 0) continue
      count.checked += 1
      const { key, bytes, sha256, owner } = next.value
      const found = await blobs.stat(key)
      const problem =
        found === null
          ? 'missing'
          : bytes !== null && found.bytes !== bytes
            ? `has ${found.bytes} bytes, not ${bytes}`
            : reads && sha256 !== null && (await hashBlob(blobs, key)) !== sha256
              ? 'has other content'
              : null
      if (problem !== null) wrong.push({ key, owner, problem })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return { ...count, wrong }
}

async function hashBlob(blobs: Pick<Blobs, 'open'>, key: string): Promise<string | null> {
  const content = await blobs.open(key)
  if (content === null) return null
  const hash = createHash('sha256')
  for await (const chunk of content) hash.update(chunk as Buffer)
  return hash.digest('hex')
}
