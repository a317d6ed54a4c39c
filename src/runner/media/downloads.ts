// Downloads of a run, into its folder. They have a time limit of their own, because the time limit of the model must not
// lose files that were paid for.
import { basename } from 'node:path'
import type { EngineRun } from '@mediagen/engine/engine.ts'
import type { Attempt } from '../attempt.ts'
import { openOutputFolder } from './outputs.ts'

/** Creates the downloads of a run. */
export function createDownloads(attempt: Attempt): EngineRun['download'] {
  const { deps, watched, time } = attempt
  let underWay = 0
  return async (url, file, options) => {
    if (file !== basename(file)) throw new Error(`an engine downloads to a file outside of its folder: ${file}`)
    if ((underWay += 1) === 1) time.hold()
    try {
      const folder = await openOutputFolder(attempt)
      return await deps.download(url, folder.pathOf(file), watched.signal, options)
    } finally {
      if ((underWay -= 1) === 0 && !watched.signal.aborted) time.run()
    }
  }
}
