// The files that the records of a database name, and the root of its ledger: what a copy of it must match.
import { createLedgerRoot, type LedgerRoot } from '../core/credits/ledger-chain.ts'
import type { Asset } from '../core/files/asset.ts'
import type { TableSource } from './tables.ts'

/** A file that a record says is there. */
export interface RecordedFile {
  /** Its key among the blobs. */
  readonly key: string
  /** Of a preview null: its record does not say. */
  readonly bytes: number | null
  /** Lower-case hexadecimal SHA-256; of a preview null. */
  readonly sha256: string | null
  /** The job or the upload. */
  readonly owner: string
}

/**
 * Lists outputs with their previews, then uploads. Drafts of running jobs are left out: they come and go, and end with the run.
 * @param from a database that does not change meanwhile
 */
export async function* listRecordedFiles(from: TableSource): AsyncGenerator<RecordedFile, void> {
  for await (const rows of from.read('jobs', ['job_id', 'outputs', 'outputs_gone']))
    for (const [jobId, outputs, gone] of rows)
      if (gone === 0 && outputs !== '[]') yield* listOutputs(String(jobId), JSON.parse(String(outputs)) as Asset[])
  for await (const rows of from.read('files', ['file_id', 'key', 'bytes', 'sha256', 'gone']))
    for (const [fileId, key, bytes, sha256, gone] of rows)
      if (gone === 0) yield { key: String(key), bytes: Number(bytes), sha256: String(sha256), owner: String(fileId) }
}

function* listOutputs(owner: string, outputs: readonly Asset[]): Iterable<RecordedFile> {
  for (const { key, bytes, sha256, previewKey } of outputs) {
    yield { key, bytes, sha256, owner }
    if (previewKey !== null) yield { key: previewKey, bytes: null, sha256: null, owner }
  }
}

/** Computes the root of the ledger (ledger-chain.ts). @param from a database that does not change meanwhile */
export async function computeLedgerRoot(from: TableSource): Promise<LedgerRoot> {
  const root = createLedgerRoot()
  for await (const rows of from.read('accounts', ['account_id', 'ledger_head']))
    for (const [accountId, head] of rows) root.add(String(accountId), head === null ? null : String(head))
  return root.digest()
}
