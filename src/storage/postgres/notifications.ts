// Notifications of changes: at once in this process, and a moment later, packed, to others by NOTIFY. A NOTIFY within a transaction
// would take a lock of the whole database at its commit. Notifications may be lost: a reader that must not miss a change also polls.
import { Client } from 'pg'
import type { AuditEntry } from '../../core/accounts/audit.ts'
import { StartupError } from '../../core/errors.ts'
import type { JobNotification, NotificationListener } from '../../core/store.ts'
import { type Database, toClientConfig } from './connection.ts'

const channel = 'mediagen_news'
const gatherMs = 20
const reconnectMs = 1000
// A connection that only listens is checked by a query: lost packets show in no other way.
const askMs = 5000
const answerMs = 3000
// PostgreSQL takes less than 8000 bytes; an id with its mark and a comma take 32.
const mostNotified = 240
// Marks a job that came into the queue.
const queuedMark = '+'
// A pooler of transactions accepts LISTEN without an error, but no notification ever arrives.
const proofMs = 3000

export interface Notifications {
  readonly listeners: Set<NotificationListener>
  readonly actListeners: Set<(entry: AuditEntry) => void>
  /** Publishes what a transaction has changed, once it is durable. */
  publish(jobs: readonly JobNotification[], acts: readonly AuditEntry[]): void
  close(): Promise<void>
}

/**
 * Listens to other processes, and again whenever the connection was lost.
 * @param listenUrl null for notifications of this process alone
 * @param name of this process: its own notifications are not delivered twice
 * @throws StartupError when no notification arrives from there
 */
export async function openNotifications(
  db: Pick<Database, 'rows'>,
  listenUrl: string | null,
  name: string,
): Promise<Notifications> {
  const listeners = new Set<NotificationListener>()
  const publishHere: NotificationListener = (jobs) => {
    for (const listener of listeners) listener(jobs)
  }
  const notify = async (ids: string): Promise<void> => {
    await db.rows('SELECT pg_notify(:channel, :payload)', { channel, payload: `${name} ${ids}` })
  }
  const subscription = listenUrl === null ? null : await listen(listenUrl, name, publishHere, () => notify(''))
  const actListeners = new Set<(entry: AuditEntry) => void>()
  /** Jobs that changed, and whether they came into the queue. */
  let gathered = new Map<string, boolean>()
  let isGathering = false
  let timer: NodeJS.Timeout | undefined
  let sending = Promise.resolve()

  /**
   * The first notification is sent at once, those of the next moment together, and none before the one before it: it could overtake that
   * on another connection. Too many are replaced by one without details.
   */
  function send(): void {
    isGathering = gathered.size > 0
    if (!isGathering) return
    const changed = gathered.size > mostNotified ? [] : [...gathered]
    gathered = new Map()
    sending = notify(changed.map(([jobId, queued]) => (queued ? queuedMark : '') + jobId).join(','))
      .catch(() => {})
      .then(() => {
        timer = setTimeout(send, gatherMs)
      })
  }

  return {
    listeners,
    actListeners,
    publish(jobs, acts) {
      if (jobs.length > 0) {
        publishHere(jobs)
        for (const { jobId, queued } of jobs) gathered.set(jobId, queued || gathered.get(jobId) === true)
        if (!isGathering) send()
      }
      for (const entry of acts) for (const listener of actListeners) listener(entry)
    },
    async close() {
      await sending
      clearTimeout(timer)
      send()
      await Promise.all([sending, subscription?.close()])
      clearTimeout(timer)
    },
  }
}

/** @param ring sends a notification that must arrive @throws StartupError */
async function listen(url: string, name: string, tell: NotificationListener, ring: () => Promise<void>) {
  let closed = false
  let client: Client
  let timer: NodeJS.Timeout | undefined
  const received = Promise.withResolvers<boolean>()

  async function connect(): Promise<void> {
    const mine = new Client({ ...toClientConfig(url), query_timeout: answerMs })
    client = mine
    let lost = false
    const again = (): void => {
      if (lost || closed) return
      lost = true
      mine.end().catch(() => {})
      clearTimeout(timer)
      timer = setTimeout(() => void connect(), reconnectMs)
      timer.unref()
    }
    mine.on('error', again)
    mine.on('end', again)
    mine.on('notification', ({ payload = '' }) => {
      const [from, ids = ''] = payload.split(' ')
      if (from === name) return received.resolve(true)
      tell(ids === '' ? null : ids.split(',').map(toNotification))
    })
    try {
      await mine.connect()
      // An idle store does not keep the process alive.
      unref(mine)
      await mine.query(`LISTEN ${channel}`)
      timer = setInterval(() => void mine.query('SELECT').catch(again), askMs)
      timer.unref()
      // Notifications sent meanwhile are lost.
      tell(null)
    } catch {
      again()
    }
  }
  async function close(): Promise<void> {
    closed = true
    clearTimeout(timer)
    await client.end().catch(() => {})
  }

  await connect()
  const late = setTimeout(() => received.resolve(false), proofMs)
  try {
    await ring()
    if (await received.promise) return { close }
  } finally {
    clearTimeout(late)
  }
  void close()
  throw new StartupError(
    'PostgreSQL tells no news of changes here: set MEDIAGEN_DATABASE_LISTEN_URL to the address of the server itself, without a pooler of transactions.',
  )
}

function toNotification(entry: string): JobNotification {
  const queued = entry.startsWith(queuedMark)
  return { jobId: queued ? entry.slice(queuedMark.length) : entry, job: null, queued }
}

/** The method is missing from the types of the driver. */
function unref(client: Client): void {
  ;(client as Client & { unref(): void }).unref()
}
