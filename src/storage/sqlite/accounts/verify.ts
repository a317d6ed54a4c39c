// The check of the ledger and its root, over the connection for long reads.
import type { Store } from '../../../core/store.ts'
import { type ReadRows, readLedgerRoot, verifyLedger } from '../../verify.ts'
import type { Connection } from '../connection.ts'

export function createLedgerChecks(db: Connection): Pick<Store, 'verifyLedger' | 'readLedgerRoot'> {
  const statements = new Map<string, ReturnType<Connection['prepare']>>()
  const read = (async (sql: string, values: object): Promise<readonly unknown[]> => {
    const known = statements.get(sql) ?? db.prepare<[object]>(sql)
    statements.set(sql, known)
    return known.all(values)
  }) as ReadRows
  return { verifyLedger: () => verifyLedger(read), readLedgerRoot: () => readLedgerRoot(read) }
}
