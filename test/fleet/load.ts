// Clients of a fleet that start, wait, cancel and send again what was not answered, and who keep what they were told: after any
// fault the fleet must agree with them.
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import type { CommandLine } from '../cli/command-line.ts'
import { createChance } from '../simulation/random.ts'

const credits = 1_000_000
const longestPauseMs = 250
// Far above any bound of the server: an answer that takes longer never comes.
const hungMs = 60_000
const terminal = new Set(['succeeded', 'failed', 'canceled', 'expired'])

/** What clients ask for. */
export interface LoadModel {
  readonly id: string
  /** Charged for a job that succeeded. */
  readonly credits: number
}

/** A job as it was answered. */
interface JobRecord {
  readonly job_id: string
  readonly status: string
  readonly attempts: number
  readonly billing: { quoted: number; held: number; charged: number; released: number }
}

/** What a client knows of one generation that it wants. */
interface Intent {
  readonly key: string
  readonly model: LoadModel
  readonly input: object
  quoteId: string | null
  job: JobRecord | null
}

/** An answer, or null where the connection broke. */
type Answer = { readonly status: number; readonly headers: Headers; readonly body: any } | null

/** What clients saw, for the table of faults. */
export interface LoadTally {
  /** Starts that were acknowledged, each of another key. */
  readonly acknowledged: number
  /** Of these, those that the fleet knew nothing of afterwards, or as another job. */
  readonly lost: number
  /** Jobs that nobody asked for. */
  readonly doubled: number
  /** Answers 503 with Retry-After. */
  readonly refusals: number
  /** Broken connections. */
  readonly broken: number
  /** The longest time for an answer that was not waited for. */
  readonly slowestMs: number
  /** How long it took to go on, each time. */
  readonly seconds: readonly number[]
}

/** Clients at work. */
export interface Load {
  /** The key that they use. */
  readonly key: string
  /** Starts that were acknowledged so far. */
  readonly acknowledged: number
  /** Waits for so many more acknowledged starts. */
  more(count: number): Promise<void>
  /** Waits until a job that is asked for now has succeeded; returns the seconds that took. */
  goesOn(): Promise<number>
  /**
   * Ends the load. Holds that every start was acknowledged in the end and is there once, that every job ended by itself as its
   * client was told, that wallet and ledger agree with that, and that each refusal was a 503 with Retry-After.
   * @param others jobs of other accounts. Default: 0
   */
  check(others?: number): Promise<LoadTally>
}

/** How clients behave. */
export interface LoadOptions {
  /** For the commands of the operator. */
  readonly line: CommandLine
  /** Servers with the role `api`, or gateways. */
  readonly doors: readonly string[]
  readonly models: readonly LoadModel[]
  readonly clients?: number
  /** How long a client rests between two starts, in milliseconds, on average. */
  readonly paceMs?: number
  readonly seed?: number
}

/** Makes an account and starts clients, which go on until `check`. */
export async function startLoad({
  line,
  doors,
  models,
  clients = 6,
  paceMs = 25,
  seed = 1,
}: LoadOptions): Promise<Load> {
  const { account_id } = await line.json([
    'admin',
    'accounts',
    'create',
    '--name',
    'load',
    '--credits',
    String(credits),
  ])
  const permissions = 'generate,jobs:read,wallet:read'
  const { key } = await line.json(['admin', 'keys', 'create', '--account', account_id, '--permissions', permissions])
  const chance = createChance(seed)
  const intents: Intent[] = []
  const wrong: string[] = []
  const seconds: number[] = []
  const counts = { acknowledged: 0, refusals: 0, broken: 0, slowestMs: 0 }
  const watchers = new Set<() => void>()
  const stop = new AbortController()

  /** One request at any door. What is neither an answer to it nor a refusal in order is kept for `check`. */
  async function send(path: string, body?: object, headers: Record<string, string> = {}): Promise<Answer> {
    const sentAt = performance.now()
    try {
      const response = await fetch(`${chance.pick(doors)}${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }), ...headers },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(hungMs),
      })
      const answer = { status: response.status, headers: response.headers, body: await response.json() }
      if (answer.status === 503 && answer.headers.has('retry-after')) counts.refusals += 1
      else if (answer.status >= 300) wrong.push(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
      return answer
    } catch (error) {
      if ((error as Error).name === 'TimeoutError') wrong.push(`${path}: no answer for ${hungMs} ms`)
      counts.broken += 1
      return null
    } finally {
      if (!path.includes('wait=true')) counts.slowestMs = Math.max(counts.slowestMs, performance.now() - sentAt)
    }
  }

  /** Sends until it is answered, as clients are told to. */
  async function insist(path: string, body?: object, headers?: Record<string, string>): Promise<NonNullable<Answer>> {
    for (;;) {
      const answer = await send(path, body, headers)
      if (answer !== null && answer.status < 300) return answer
      if (answer !== null && answer.status < 500) throw new Error(`refused: ${wrong.at(-1)}`)
      await pause(longestPauseMs * chance.number())
    }
  }

  function want(): Intent {
    const model = chance.pick(models) as LoadModel
    const intent = {
      key: `load-${intents.length}`,
      model,
      input: { prompt: `${intents.length}` },
      quoteId: null,
      job: null,
    }
    intents.push(intent)
    return intent
  }

  async function start(intent: Intent, waits: boolean): Promise<NonNullable<Answer>> {
    const { key: idempotencyKey, model, input } = intent
    intent.quoteId ??= (await insist('/v1/quotes', { model: model.id, input })).body.quote_id as string
    const body = { model: model.id, input, quote_id: intent.quoteId }
    const answer = await insist(`/v1/generate?wait=${waits}`, body, { 'idempotency-key': idempotencyKey })
    learn(intent, answer.body)
    return answer
  }

  /** Another answer must be about the same job, and agree about its end. */
  function learn(intent: Intent, job: JobRecord): void {
    const { job: before } = intent
    if (before === null) {
      counts.acknowledged += 1
      for (const watcher of watchers) watcher()
    } else {
      if (job.job_id !== before.job_id) wrong.push(`${intent.key} is ${before.job_id} and ${job.job_id}`)
      if (isEnded(before) && (job.status !== before.status || job.billing.charged !== before.billing.charged))
        wrong.push(`${job.job_id} ended as ${before.status} and ${job.status}`)
    }
    intent.job = job
  }

  async function work(): Promise<void> {
    while (!stop.signal.aborted) {
      const what = chance.below(8)
      const intent = want()
      await start(intent, what === 0)
      if (what === 1) learn(intent, (await insist(`/v1/jobs/${intent.job?.job_id}/cancel`, {})).body)
      if (what === 2) await start(chance.pick(intents.filter(({ job }) => job !== null)) as Intent, false)
      await pause(paceMs * 2 * chance.number())
    }
  }

  const working = Promise.all(Array.from({ length: clients }, work))
  // A failure is that of `check`.
  working.catch(() => {})

  return {
    key,
    get acknowledged() {
      return counts.acknowledged
    },
    more(count) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const enough = counts.acknowledged + count
      const watcher = (): void => {
        if (counts.acknowledged < enough) return
        watchers.delete(watcher)
        resolve()
      }
      watchers.add(watcher)
      return Promise.race([promise, working.then(() => {})])
    },

    async goesOn() {
      const since = performance.now()
      let intent
      do await start((intent = want()), true)
      while (intent.job?.status !== 'succeeded')
      const taken = Math.round((performance.now() - since) / 100) / 10
      seconds.push(taken)
      return taken
    },

    async check(others = 0) {
      stop.abort()
      await working
      const told = intents.map(({ job }) => job?.job_id)
      // Waits for each job: none is forgotten in the queue, or with a worker that is gone.
      const left = intents.values()
      await Promise.all(
        Array.from({ length: clients }, async () => {
          for (const intent of left)
            do await start(intent, true)
            while (!isEnded(intent.job))
        }),
      )
      const lost = intents.filter(({ job }, index) => job?.job_id !== told[index]).length
      const { total } = (await insist('/v1/jobs?limit=1')).body
      const { body: wallet } = await insist('/v1/wallet')
      const charged = intents.reduce((sum, { job }) => sum + (job?.billing.charged ?? 0), 0)
      for (const { job, model } of intents)
        if (job?.billing.charged !== (job?.status === 'succeeded' ? model.credits : 0))
          wrong.push(`${job?.job_id} ${job?.status} was charged ${job?.billing.charged}`)
      expect(wrong).toEqual([])
      expect(wallet).toMatchObject({ available: credits - charged, held: 0 })
      const jobs = intents.length + others
      expect(await line.json(['admin', 'ledger', 'verify'])).toMatchObject({ ok: true, jobs, problems: [] })
      const tally = {
        ...counts,
        slowestMs: Math.round(counts.slowestMs),
        seconds,
        lost,
        doubled: total - intents.length,
      }
      expect(tally).toMatchObject({ acknowledged: intents.length, lost: 0, doubled: 0 })
      return tally
    },
  }
}

function isEnded(job: JobRecord | null): boolean {
  return job !== null && terminal.has(job.status)
}
