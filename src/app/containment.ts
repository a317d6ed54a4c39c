// How forked processes are contained on this machine, found out once and said in the log; a part of the composition root.
import { chmod, stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Containment, findContainment } from '@mediagen/engine/containment.ts'
import { onFirstUse } from '@mediagen/engine/first-use.ts'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { layOut } from './store/data-dir.ts'

/** Finds out, when it is first called, how processes are contained. */
export type ContainmentFinder = () => Promise<Containment>

/** Creates a finder. @param processFolder where the processes of this server have their folders */
export function createContainmentFinder(config: Config, processFolder: string, log: Logger): ContainmentFinder {
  return onFirstUse(() => find(config, processFolder, log))
}

async function find(config: Config, processFolder: string, log: Logger): Promise<Containment> {
  const cores = availableParallelism()
  const options = {
    user: config.childUser,
    hidden: config.dataDir,
    folder: processFolder,
    // If these files can be read, so can the others in their folders.
    readable: [import.meta.resolve('@mediagen/engine/serve.ts'), import.meta.resolve('sharp'), import.meta.url].map(
      (url) => fileURLToPath(url),
    ),
    // Those that render, and those that look into outputs.
    processes: (config.childProcesses || cores) + cores + 2 * config.spareProcesses,
  }
  let containment = await findContainment(options)
  if (config.childUser && !containment.user && process.getuid?.() === 0) {
    // Where it cannot be hidden, another user has to get through the data directory to the folders of processes.
    for (const folder of [config.dataDir, dirname(processFolder), processFolder])
      await chmod(folder, (await stat(folder)).mode | 0o001)
    containment = await findContainment(options)
  }
  const { missing, user, hides } = containment
  if (user && !hides) await closeFolders(config.dataDir)
  if (missing.length > 0)
    log.warn(
      { missing },
      'processes that render and decode are contained less than they could be: see docs/containment.md',
    )
  else log.debug({ uid: user?.uid, hides }, 'processes that render and decode are contained')
  return containment
}

/** Closes folders with the files of jobs to users that are neither the owner nor in the group. */
async function closeFolders(dataDir: string): Promise<void> {
  const { assets, work } = layOut(dataDir)
  // Names of runs cannot be guessed, and programs of a user of their own have to get to theirs.
  for (const [folder, others] of [
    [assets, 0],
    [work, 0o001],
  ] as const) {
    const stats = await stat(folder).catch(() => null)
    if (stats) await chmod(folder, (stats.mode & 0o770) | others)
  }
}
