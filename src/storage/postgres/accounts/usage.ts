// Usage of accounts. Triggers write it.
import type { UsagePage, UsageRequest } from '../../../core/credits/usage.ts'
import { selectUsage, toUsagePage } from '../../usage.ts'
import type { Database } from '../connection.ts'
import { readInTime } from '../pages.ts'

export function createUsageReads(db: Database) {
  return {
    async listUsage(request: UsageRequest): Promise<UsagePage> {
      const { sql, values } = selectUsage(request, (name) => `labels::json ->> :${name}::text COLLATE "C"`)
      return toUsagePage(request.groups, await readInTime(db, sql, values))
    },
  }
}
