// Group commit: commands of one kind that are requested together run in one transaction, and so do those that are requested while
// it runs. The slower the server, the larger the groups.

import { isDatabaseAway } from '../../core/storage-trouble.ts'

// More would save nothing and delay the first.
const mostAtOnce = 256

interface Waiting<Command, Result> {
  readonly command: Command
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Creates a function that runs commands together.
 * @param run runs some in one transaction, in order; an Error among the results is that of its command. When all fail, because one
 *   breaks a rule of the database, each is run alone; when the database is away, each would only wait for it again.
 */
export function runTogether<Command, Result>(
  run: (commands: readonly Command[]) => Promise<readonly (Result | Error)[]>,
): (command: Command) => Promise<Result> {
  let waiting: Waiting<Command, Result>[] = []
  let running = false

  async function drain(): Promise<void> {
    running = true
    while (waiting.length > 0) {
      const group = waiting.splice(0, mostAtOnce)
      await settle(group)
    }
    running = false
  }

  async function settle(group: readonly Waiting<Command, Result>[]): Promise<void> {
    try {
      const results = await run(group.map(({ command }) => command))
      for (const [index, { resolve, reject }] of group.entries()) {
        const result = results[index] as Result | Error
        if (result instanceof Error) reject(result)
        else resolve(result)
      }
    } catch (error) {
      const [first] = group
      if (isDatabaseAway(error)) for (const { reject } of group) reject(error)
      else if (group.length === 1) first?.reject(error)
      else for (const one of group) await settle([one])
    }
  }

  return (command) =>
    new Promise((resolve, reject) => {
      waiting.push({ command, resolve, reject })
      // Those of this turn of the event loop begin together.
      if (!running && waiting.length === 1) setImmediate(() => void (running || drain()))
    })
}
