// mediagen with a null engine that tells when each run begins, one line each on standard output. Run by queue-wait.ts.
import type { Engine } from '@mediagen/engine/engine.ts'
import { startApp } from '../src/app/start.ts'
import { readConfig } from '../src/config.ts'
import { createNullEngine } from '../src/engines/null.ts'

/** What a line says: a job whose run begins, and when, in nanoseconds of the machine's monotonic clock. */
export interface Begun {
  readonly begun: string
  readonly at: string
}

const engine = createNullEngine()
const timed: Engine = {
  ...engine,
  run(spec, run) {
    const at = process.hrtime.bigint()
    process.stdout.write(`${JSON.stringify({ begun: run.jobId, at: String(at) } satisfies Begun)}\n`)
    return engine.run(spec, run)
  },
}
const app = await startApp(readConfig(process.env), { engines: [timed] })
process.stdout.write(`${JSON.stringify({ http_url: app.httpUrl, grpc_url: app.grpcUrl })}\n`)
process.once('SIGTERM', () => {
  void app[Symbol.asyncDispose]().then(() => process.exit(0))
})
