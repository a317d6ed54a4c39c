// The check of the ledger, over the connection for long reads.
import type { LedgerReport } from '../../core/store.ts'
import { type ReadRows, verifyLedger } from '../verify.ts'
import type { Connection } from './connection.ts'

export function createLedgerVerifier(db: Connection): () => Promise<LedgerReport> {
  const statements = new Map<string, ReturnType<Connection['prepare']>>()
  const read = async (sql: string, values: object): Promise<readonly unknown[]> => {
    const known = statements.get(sql) ?? db.prepare<[object]>(sql)
    statements.set(sql, known)
    return known.all(values)
  }
  return () => verifyLedger(read as ReadRows)
}
