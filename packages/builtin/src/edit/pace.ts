// Estimated progress of a library call that takes seconds and reports none.

import type { RenderTask } from '../renderer.ts'

const stepMs = 100
// The share at which progress stops when a call takes longer than expected.
const mostBeforeItsEnd = 0.95

/** Runs a part of a task. Meanwhile progress goes from one share to another, at the pace of the expected duration. */
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
