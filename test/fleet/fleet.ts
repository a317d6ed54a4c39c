// A fleet of real processes on one machine: they share a database, and a folder for files unless the settings name a store.
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { nullCredits, writeNullCatalog } from '../../bench/null-models.ts'
import { type CommandLine, openCommandLine, type Served } from '../cli/command-line.ts'
import { type Load, type LoadModel, type LoadTally, startLoad } from './load.ts'

// A process takes some 220 MB at work; what grows while the database is away is not far from that.
const mostMegabytes = 400

/** Processes at work, and commands on what they share. */
export interface Fleet extends AsyncDisposable {
  readonly line: CommandLine
  readonly apis: readonly Served[]
  readonly workers: readonly Served[]
  readonly models: readonly LoadModel[]
  /** Starts one more process of the roles, with more settings. @param of whose program it is. Default: `line` */
  serve(roles: string, env?: Readonly<Record<string, string>>, of?: CommandLine): Promise<Served>
  /** Processes that ended, as text. */
  dead(): readonly string[]
  /** The largest memory of a process so far, in bytes. */
  largestBytes(): number
}

const usual = {
  MEDIAGEN_RATE_LIMIT: '0',
  MEDIAGEN_BYTE_RATE: '0',
  MEDIAGEN_MAX_QUEUED_JOBS: '100000',
  MEDIAGEN_LEASE_SECONDS: '3',
}

/**
 * Migrates the database and starts two servers of each role.
 * @param settings must name the database, and may name catalogs beside that of the null models
 */
export async function startFleet(settings: Readonly<Record<string, string>>): Promise<Fleet> {
  const line = openCommandLine({ ...usual, ...settings })
  const models = [
    { id: 'null/instant/text-to-image', concurrency: 4, picture: true },
    { id: 'null/slow/text-to-image', concurrency: 4, delayMs: 200 },
  ]
  const { MEDIAGEN_CATALOG: more = '' } = settings
  const catalog = {
    MEDIAGEN_CATALOG: [writeNullCatalog(line.folder, models), ...more.split(':')].filter(Boolean).join(':'),
  }
  const served: Served[] = []
  async function serve(roles: string, env: Readonly<Record<string, string>> = {}, of = line): Promise<Served> {
    const one = await of.serve({ ...usual, ...settings, MEDIAGEN_ROLES: roles, ...catalog, ...env })
    served.push(one)
    return one
  }
  try {
    await line.run(['migrate'])
    const [apis, workers] = await Promise.all(
      ['api', 'worker'].map((roles) => Promise.all([serve(roles), serve(roles)])),
    )
    if (!apis || !workers) throw new Error('no processes')
    return {
      line,
      apis,
      workers,
      models: models.map(({ id }) => ({ id, credits: nullCredits })),
      serve,
      dead: () =>
        served
          .map(({ process: { pid, exitCode, signalCode } }) => `${pid}: ${exitCode ?? signalCode}`)
          .filter((text) => !text.endsWith(': null')),
      largestBytes: () => Math.max(...served.map(({ process: { pid } }) => readPeak(pid as number))),
      [Symbol.asyncDispose]: () => line[Symbol.asyncDispose](),
    }
  } catch (error) {
    await line[Symbol.asyncDispose]()
    throw error
  }
}

/** A fleet with clients. */
export interface LoadedFleet extends Fleet {
  readonly load: Load
  /** All its processes. */
  readonly machines: readonly Served[]
  /** After a fault: the load goes on and ends, its `check` holds, and no process has ended or grown. Prints a line for the table of faults. */
  check(fault: string): Promise<LoadTally>
}

/** Starts a fleet and its clients, and returns once they are at work. */
export async function openUnderLoad(settings: Readonly<Record<string, string>>): Promise<LoadedFleet> {
  const fleet = await startFleet(settings)
  const { line, apis, workers, models } = fleet
  try {
    const load = await startLoad({ line, doors: apis.map(({ httpUrl }) => httpUrl), models })
    await load.more(100)
    return {
      ...fleet,
      load,
      machines: [...apis, ...workers],
      async check(fault) {
        await load.more(100)
        const tally = await load.check()
        expect(fleet.dead()).toEqual([])
        const megabytes = Math.round(fleet.largestBytes() / 1e6)
        expect(megabytes).toBeLessThan(mostMegabytes)
        process.stdout.write(`${fault}: ${JSON.stringify({ ...tally, megabytes })}\n`)
        return tally
      },
    }
  } catch (error) {
    await fleet[Symbol.asyncDispose]()
    throw error
  }
}

/** VmHWM of proc_pid_status(5): the most memory that a process has had. */
function readPeak(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
}
