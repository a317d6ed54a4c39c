// Progress of a call, to clients that asked for it.
import type { Job } from '@mediagen/client/client.ts'
import type { ServerContext } from '@modelcontextprotocol/server'

/** Reports each step of a job. The protocol wants the number to grow with every message, so other changes are not reported. */
export function createProgress({ _meta, notify }: ServerContext['mcpReq']): (job: Job) => void {
  const progressToken = _meta?.progressToken
  let reported = -1
  return ({ progress, status }) => {
    if (progressToken === undefined || progress <= reported) return
    reported = progress
    const params = { progressToken, progress, total: 1, message: status }
    // A client that is gone ends the call by itself.
    notify({ method: 'notifications/progress', params }).catch(() => {})
  }
}
