// Changes of jobs, as the server streams them to operators. Pages go on reading now and then for what the stream may miss.
import type { Admin } from './client.ts'

const eventName = 'mediagen.jobs'
const reopenMs = 5000
// Many jobs change in one moment.
const settleMs = 500

/** Announces changes of jobs to the pages until the signal aborts. */
export async function watchJobs(admin: Pick<Admin, 'watchAllJobs'>, signal: AbortSignal): Promise<void> {
  let settling: ReturnType<typeof setTimeout> | undefined
  function announce(): void {
    settling ??= setTimeout(() => {
      settling = undefined
      dispatchEvent(new Event(eventName))
    }, settleMs)
  }
  while (!signal.aborted) {
    try {
      for await (const { jobs, more } of admin.watchAllJobs({}, { signal })) if (jobs.length > 0 || more) announce()
    } catch {
      // It is opened again; what it missed is read meanwhile.
    }
    await new Promise((resolve) => setTimeout(resolve, reopenMs))
  }
}

/** Calls back after changes of jobs until the signal aborts. */
export function onJobs(changed: () => void, signal: AbortSignal): void {
  addEventListener(eventName, changed, { signal })
}
