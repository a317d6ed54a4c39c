// When keys were last used: remembered here, and written for all of them together some seconds later, so that no call waits for it.
import { type ApiKey, type KeyUse, keyUseMs } from '../../core/accounts/key.ts'
import type { Session } from '../../core/accounts/session.ts'
import type { Store } from '../../core/store.ts'

const writeMs = 5000

/** Notes the uses of keys. */
export interface KeyUses {
  /** Notes that a key was used, or a session that stands for it; called for each call. */
  note(key: ApiKey, nowMs: number, session?: Pick<Session, 'sessionId' | 'lastSeenAtMs'>): void
  /** Writes what is not written yet. */
  flush(): void
}

/** Creates the notes. A use that cannot be written is lost; a later one is written a minute after it. */
export function createKeyUses(store: Pick<Store, 'recordKeyUses'>): KeyUses {
  // When each key or session was last used. Read only while the use in its record is older than a minute.
  const noted = new Map<string, number>()
  let unwritten: KeyUse[] = []
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    const uses = unwritten
    unwritten = []
    const latestMs = uses.at(-1)?.atMs ?? 0
    for (const [id, atMs] of noted) if (latestMs - atMs >= keyUseMs) noted.delete(id)
    if (uses.length > 0) store.recordKeyUses(uses).catch(() => {})
  }

  return {
    note({ keyId, lastUsedAtMs }, nowMs, session) {
      const knownMs = session === undefined ? lastUsedAtMs : session.lastSeenAtMs
      if (knownMs !== null && nowMs - knownMs < keyUseMs) return
      const id = session?.sessionId ?? keyId
      const before = noted.get(id)
      if (before !== undefined && nowMs - before < keyUseMs) return
      noted.set(id, nowMs)
      unwritten.push({ keyId, ...(session && { sessionId: session.sessionId }), atMs: nowMs })
      timer ??= setTimeout(flush, writeMs).unref()
    },
    flush,
  }
}
