// Flushes of folders that many blobs wait for at the same time, above all of the folder that has those of all runs.

interface Turn {
  readonly running: Promise<void>
  next: Promise<void> | null
}

/**
 * Flushes each folder one time after the other. A call during a flush shares the next one: the running one may have begun
 * before a name was given.
 * @param flush flushes a folder; callers that share a flush share its failure
 */
export function shareFlushes(flush: (folder: string) => Promise<void>): (folder: string) => Promise<void> {
  const turns = new Map<string, Turn>()
  function begin(folder: string): Promise<void> {
    const turn: Turn = { running: flush(folder), next: null }
    turns.set(folder, turn)
    const end = (): void => {
      if (turn.next === null) turns.delete(folder)
    }
    turn.running.then(end, end)
    return turn.running
  }
  return (folder) => {
    const turn = turns.get(folder)
    if (!turn) return begin(folder)
    return (turn.next ??= turn.running.catch(() => {}).then(() => begin(folder)))
  }
}
