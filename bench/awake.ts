// Keeps the load generator awake while it measures.
import { cpus } from 'node:os'

/**
 * Runs `work` without letting this process sleep. Waking a core takes whoever sends to it some microseconds; the server that
 * leaves the client less time to sleep, the faster one, would pay that less often.
 */
export async function whileAwake<Result>(work: () => PromiseLike<Result>): Promise<Result> {
  // Where there is one core only, the server needs what the client leaves.
  let awake = cpus().length > 1
  const turn = (): void => {
    if (awake) setImmediate(turn)
  }
  turn()
  try {
    return await work()
  } finally {
    awake = false
  }
}
