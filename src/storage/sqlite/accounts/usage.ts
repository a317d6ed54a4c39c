// Usage of accounts. Triggers write it.
import type { UsagePage, UsageRequest } from '../../../core/credits/usage.ts'
import { selectUsage, toUsagePage } from '../../usage.ts'
import type { Connection } from '../connection.ts'

export function createUsageReads(db: Connection) {
  return {
    listUsage(request: UsageRequest): UsagePage {
      // Names of labels have no character that a path would have to escape.
      const { sql, values } = selectUsage(request, (name) => `json_extract(labels, '$."' || :${name} || '"')`)
      return toUsagePage(request.groups, db.prepare<[object], Record<string, string | number | null>>(sql).all(values))
    },
  }
}
