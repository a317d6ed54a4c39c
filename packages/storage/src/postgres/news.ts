// News of changes: told here at once, and to other processes by NOTIFY, packed and a moment later. A NOTIFY within a transaction
// would take a lock of the whole database at its commit. News may be lost; whoever must not miss a change also looks.
import { Client } from 'pg'
import type { AuditEntry } from '@mediagen/core/audit.ts'
import type { JobNews, NewsListener } from '@mediagen/core/store.ts'
import { type Database, toClientConfig } from './connection.ts'

const channel = 'mediagen_news'
const gatherMs = 20
const reconnectMs = 1000
// PostgreSQL takes less than 8000 bytes; an id and a comma take 31.
const mostTold = 250

/** News of a store. */
export interface News {
  readonly listeners: Set<NewsListener>
  readonly actListeners: Set<(entry: AuditEntry) => void>
  /** Tells what a transaction has changed, once it is durable. */
  tell(jobs: readonly JobNews[], acts: readonly AuditEntry[]): void
  close(): Promise<void>
}

/**
 * Listens to other processes, and again whenever the connection was lost.
 * @param name of this process: its own news are not told twice
 */
export function openNews(db: Pick<Database, 'rows'>, listenUrl: string, name: string): News {
  const listeners = new Set<NewsListener>()
  const actListeners = new Set<(entry: AuditEntry) => void>()
  let gathered = new Set<string>()
  let timer: NodeJS.Timeout | null = null
  let sending = Promise.resolve()
  let closed = false
  let client: Client | null = null
  let retry: NodeJS.Timeout | undefined

  function tellHere(jobs: Parameters<NewsListener>[0]): void {
    for (const listener of listeners) listener(jobs)
  }

  /** Whoever has much to tell says only that there is something. */
  function send(): void {
    timer = null
    const ids = gathered.size > mostTold ? '' : [...gathered].join(',')
    gathered = new Set()
    sending = db.rows('SELECT pg_notify(:channel, :payload)', { channel, payload: `${name} ${ids}` }).then(
      () => {},
      () => {},
    )
  }

  async function listen(): Promise<void> {
    const mine = new Client(toClientConfig(listenUrl))
    client = mine
    let lost = false
    const again = (): void => {
      if (lost || closed) return
      lost = true
      mine.end().catch(() => {})
      retry = setTimeout(() => void listen(), reconnectMs)
      retry.unref()
    }
    mine.on('error', again)
    mine.on('end', again)
    mine.on('notification', ({ payload = '' }) => {
      const [from, ids = ''] = payload.split(' ')
      if (from === name) return
      tellHere(ids === '' ? null : ids.split(',').map((jobId) => ({ jobId, job: null })))
    })
    try {
      await mine.connect()
      // An idle store does not keep the process alive.
      unref(mine)
      await mine.query(`LISTEN ${channel}`)
      // What was told meanwhile is lost.
      tellHere(null)
    } catch {
      again()
    }
  }

  const listening = listen()
  return {
    listeners,
    actListeners,
    tell(jobs, acts) {
      if (jobs.length > 0) {
        tellHere(jobs)
        for (const { jobId } of jobs) gathered.add(jobId)
        timer ??= setTimeout(send, gatherMs)
      }
      for (const entry of acts) for (const listener of actListeners) listener(entry)
    },
    async close() {
      closed = true
      clearTimeout(retry)
      await listening
      if (timer !== null) {
        clearTimeout(timer)
        send()
      }
      await Promise.all([sending, client?.end().catch(() => {})])
    },
  }
}

/** The method is missing from the types of the driver. */
function unref(client: Client): void {
  ;(client as Client & { unref(): void }).unref()
}
