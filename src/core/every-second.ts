// One timer for all that a process looks at once a second. Most of what an idle process costs is waking up, and it does that once.

const looks = new Set<() => void>()
let timer: NodeJS.Timeout | undefined

function lookAtAll(): void {
  for (const look of looks) look()
}

/** Calls `look`, which must not throw, every second until the returned function is called. It does not keep the process alive. */
export function everySecond(look: () => void): () => void {
  const own = (): void => look()
  looks.add(own)
  timer ??= setInterval(lookAtAll, 1000).unref()
  return () => {
    looks.delete(own)
    if (looks.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}
