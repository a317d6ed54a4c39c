// How an installation is now: what runs, what waits, what is wrong, and the command for each.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../../config.ts'
import { systemClock } from '../../../core/clock.ts'
import { timeOfId } from '../../../core/ids.ts'
import type { Backlog } from '../../../core/jobs/backlog.ts'
import type { Store } from '../../../core/store.ts'
import { toAge } from '../../../core/text/age.ts'
import { listWorkers } from '../../../runner/worker-directory.ts'
import { findBuiltin } from '../../builtin.ts'
import { openIdleEngines, readModels } from '../../models.ts'
import { layOut } from '../../store/data-dir.ts'
import { describeDatabase, openExistingStore } from '../../store/store.ts'
import { toLocation } from '../backup/whole.ts'
import { openTables } from '../move.ts'
import { checkRoom, type Finding, findProviderCommand, toDatabaseFinding } from './finding.ts'

const answerMs = 2000
const dayMs = 86_400_000

/** How an installation is. */
export interface Status {
  readonly version: string
  readonly database: string
  readonly nowMs: number
  /** Processes that live in the data directory; their heartbeat is a lock that ends with them. */
  readonly processes: readonly { readonly name: string; readonly startedAtMs: number }[]
  /** Whether a server on another machine works on the database; null if that is unknown. */
  readonly servedElsewhere: boolean | null
  /** What answers at the addresses of the settings. */
  readonly addresses: readonly { readonly url: string; readonly state: string }[]
  /** Null if the database cannot be used. */
  readonly backlog: Backlog | null
  readonly freeBytes: number | null
  readonly findings: readonly Finding[]
}

/** Looks. Nothing is changed. */
export async function readStatus(config: Config, version: string): Promise<Status> {
  const { dataDir, databaseUrl } = config
  const workers = listWorkers(layOut(dataDir).locks)
  const processes = workers.flatMap(({ name, lives }) => (lives ? [{ name, startedAtMs: timeOfId(name) }] : []))
  const { freeBytes, findings: room } = checkRoom(dataDir)
  const findings: Finding[] = []
  const servedElsewhere = databaseUrl === null || processes.length > 0 ? null : await isServed(config)
  const died = workers.length - processes.length
  if (processes.length === 0 && !servedElsewhere)
    findings.push({
      check: 'server',
      problem:
        died > 0 ? `no server runs; ${died} died and left ${died === 1 ? 'its' : 'their'} jobs` : 'no server runs',
      command: 'mediagen serve',
    })
  // One after the other: reading a catalog leaves no time for answers.
  const addresses = await askAddresses(config, processes.length > 0)
  const unready = await listUnready(config)
  const { backlog, waits } = await readStore(config)
  return {
    version,
    database: await describeDatabase(config),
    nowMs: systemClock.nowMs(),
    processes,
    servedElsewhere,
    addresses,
    backlog,
    freeBytes,
    findings: [...findings, ...waits, ...unready, ...room],
  }
}

/** Whether a server works on the database; null if it cannot be read. */
async function isServed(config: Config): Promise<boolean | null> {
  try {
    await using tables = await openTables(toLocation(config), false)
    return await tables.isServed(systemClock.nowMs())
  } catch {
    // The store says why.
    return null
  }
}

async function askAddresses(
  { host, httpPort, adminHost, adminPort }: Config,
  runs: boolean,
): Promise<Status['addresses']> {
  const ports = [
    [host, httpPort],
    [adminHost, adminPort],
  ] as const
  // Port 0 is one that only the server knows.
  const known = runs ? ports.filter((pair): pair is readonly [string, number] => (pair[1] ?? 0) > 0) : []
  return Promise.all(
    known.map(async ([name, port]) => {
      const url = `http://${/^(0\.0\.0\.0|::)$/.test(name) ? '127.0.0.1' : name}:${port}`
      return { url, state: await askReady(url) }
    }),
  )
}

async function askReady(url: string): Promise<string> {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(answerMs) })
    const { status, reason } = (await answer.json()) as { status: string; reason?: string }
    return reason === undefined ? status : `${status}: ${reason}`
  } catch {
    return 'does not answer; has the server another port?'
  }
}

/** Models that wait for something; each has a moment to answer, as at the start of a server. */
async function listUnready(config: Config): Promise<Finding[]> {
  if (config.catalog.length === 0) return []
  try {
    await using idle = await openIdleEngines(await findBuiltin(), config)
    const { engines } = idle
    const ended = new AbortController()
    const late = sleep(answerMs, 'there was no answer in time', { signal: ended.signal })
    late.catch(() => {})
    const reasons = await Promise.all(
      readModels(config.catalog, engines).map(async ({ id, engine }) => {
        const reason = engines.find(({ kind }) => kind === engine.kind)?.unready(engine)
        return { id, reason: (await Promise.race([reason, late])) ?? null }
      }),
    )
    ended.abort()
    const byReason = Map.groupBy(
      reasons.filter(({ reason }) => reason !== null),
      ({ reason }) => String(reason),
    )
    return Array.from(byReason, ([reason, models]) => ({
      check: 'models',
      problem: `${models.length === 1 ? models[0]?.id : `${models.length} models`}: ${reason}`,
      command: findProviderCommand(reason),
    }))
  } catch (error) {
    const [problem = ''] = (error as Error).message.split('\n')
    return [{ check: 'models', problem, command: 'mediagen admin models check' }]
  }
}

async function readStore(config: Config): Promise<{ backlog: Backlog | null; waits: readonly Finding[] }> {
  try {
    await using store = await openExistingStore(config)
    const backlog = await store.measureBacklog()
    return { backlog, waits: [...findReviews(backlog), ...(await findFailed(store))] }
  } catch (error) {
    return { backlog: null, waits: [toDatabaseFinding(error)] }
  }
}

function findReviews({ reviews, oldestReviewMs }: Backlog): Finding[] {
  if (reviews === 0) return []
  const problem = `${reviews} under review, the oldest for ${toAge(oldestReviewMs)}`
  return [{ check: 'reviews', problem, command: 'mediagen admin jobs list --status needs_review' }]
}

async function findFailed(store: Store): Promise<Finding[]> {
  const page = { limit: 500, offset: 0 }
  const { items } = await store.listDeliveries({
    ...page,
    accountId: null,
    webhookId: null,
    jobId: null,
    status: 'failed',
  })
  const recent = items.filter(({ finishedAtMs }) => (finishedAtMs ?? 0) > store.nowMs() - dayMs).length
  if (recent === 0) return []
  const problem = `${recent === page.limit ? `${recent} or more` : recent} webhook deliveries given up in a day`
  return [{ check: 'webhooks', problem, command: 'mediagen admin webhooks deliveries --status failed' }]
}
