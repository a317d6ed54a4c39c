// Progress of what tells nothing of itself: one call into a library that takes seconds.

import type { RenderTask } from '../renderer.ts'

const stepMs = 100
// What takes longer than expected waits here for its end.
const mostBeforeItsEnd = 0.95

/** Does a part of a task; meanwhile progress goes from one share to another, by how long that part was expected to take. */
export async function pace<Result>(
  task: Pick<RenderTask, 'onProgress'>,
  [from, to]: readonly [number, number],
  expectedSeconds: number,
  doing: Promise<Result>,
): Promise<Result> {
  const startedMs = performance.now()
  const timer = setInterval(() => {
    const share = (performance.now() - startedMs) / 1000 / expectedSeconds
    task.onProgress(from + (to - from) * Math.min(share, mostBeforeItsEnd))
  }, stepMs)
  try {
    return await doing
  } finally {
    clearInterval(timer)
    task.onProgress(to)
  }
}
