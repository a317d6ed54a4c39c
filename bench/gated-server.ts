// mediagen with a null engine whose runs wait at a gate; SIGHUP opens the gate, and closes it again. Run by waiters.ts.
import type { Engine } from '@mediagen/engine/engine.ts'
import { startApp } from '../src/app/start.ts'
import { readConfig } from '../src/config.ts'
import { createNullEngine } from '../src/engines/null.ts'

let gate: PromiseWithResolvers<void> | null = Promise.withResolvers()
process.on('SIGHUP', () => {
  gate?.resolve()
  gate = gate ? null : Promise.withResolvers()
})

const engine = createNullEngine()
const gated: Engine = {
  ...engine,
  async run(spec, run) {
    await gate?.promise
    return await engine.run(spec, run)
  },
}
const app = await startApp(readConfig(process.env), { engines: [gated] })
process.stdout.write(`${JSON.stringify({ http_url: app.httpUrl, grpc_url: app.grpcUrl })}\n`)
process.once('SIGTERM', () => {
  gate?.resolve()
  void app[Symbol.asyncDispose]().then(() => process.exit(0))
})
