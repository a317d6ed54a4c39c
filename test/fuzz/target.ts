// The server that is fuzzed, as a process of its own, and a watch over what it may not do: grow, stall, fail or go away.
import { readdirSync, readFileSync } from 'node:fs'
import { type CommandLine, createTestAccount, openCommandLine, type Served } from '../cli/command-line.ts'

const lookMs = 200

/** A server under attack. */
export interface Target extends AsyncDisposable {
  readonly line: CommandLine
  readonly httpUrl: string
  readonly grpcUrl: string
  readonly key: string
  /** Lines that the server logged as errors: bugs. */
  readonly errors: readonly string[]
  /** What was seen so far. */
  worst(): { residentMb: number; healthzMs: number; alive: boolean }
  /** The longest turn of the event loop since this was asked last, in milliseconds. */
  longestTurnMs(): Promise<number>
  /** Resident memory now, in MB. */
  residentMb(): number
  /** How many files, connections among them, the process has open. */
  openFiles(): number
}

/** Starts the server and the watch. */
export async function startTarget(settings: Readonly<Record<string, string>> = {}): Promise<Target> {
  const line = openCommandLine({
    MEDIAGEN_LOG_LEVEL: 'info',
    // What an attack makes the server keep is measured, not how long V8 leaves what is no longer used.
    NODE_OPTIONS: '--max-semi-space-size=2',
    MEDIAGEN_STALL_SECONDS: '3',
    // As usual: under load it refuses requests.
    MEDIAGEN_MAX_QUEUE_MS: '1000',
    MEDIAGEN_RATE_LIMIT: '0',
    MEDIAGEN_BYTE_RATE: '0',
    ...settings,
  })
  const server = await line.serve()
  const { key } = await createTestAccount(line)
  const errors = watchErrors(server)
  // The event loop is watched from the first reading on.
  await (await fetch(`${server.httpUrl}/metrics`)).text()
  let residentMb = 0
  let healthzMs = 0
  const watch = new AbortController()

  async function look(): Promise<void> {
    while (!watch.signal.aborted && server.process.exitCode === null) {
      const askedAt = performance.now()
      // A refused connection counts as long as it takes until one is answered.
      const answered = await fetch(`${server.httpUrl}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      )
      if (!answered && server.process.exitCode === null) errors.push('/healthz was not answered')
      healthzMs = Math.max(healthzMs, performance.now() - askedAt)
      residentMb = Math.max(residentMb, readResidentMb(server))
      await new Promise((resolve) => setTimeout(resolve, lookMs))
    }
  }
  const looked = look()

  return {
    line,
    httpUrl: server.httpUrl,
    grpcUrl: server.grpcUrl ?? '',
    key,
    errors,
    async longestTurnMs() {
      const metrics = await (await fetch(`${server.httpUrl}/metrics`)).text()
      return Math.round(Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(metrics)?.[1]) * 1000)
    },
    residentMb: () => readResidentMb(server),
    openFiles: () => readdirSync(`/proc/${server.process.pid}/fd`).length,
    worst: () => ({
      residentMb: Math.round(residentMb),
      healthzMs: Math.round(healthzMs),
      alive: server.process.exitCode === null && server.process.signalCode === null,
    }),
    async [Symbol.asyncDispose]() {
      watch.abort()
      await looked
      await server.stop()
      await line[Symbol.asyncDispose]()
    },
  }
}

function watchErrors(server: Served): string[] {
  const errors: string[] = []
  let rest = ''
  server.process.stdout?.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    errors.push(...lines.filter((line) => /^\{"level":(50|60)/.test(line)))
  })
  return errors
}

function readResidentMb({ process: { pid } }: Served): number {
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}
