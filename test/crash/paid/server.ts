// A server with the paid engine, whose backend is the test that started it (PAID_BACKEND_URL).
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startApp } from '../../../src/app/start.ts'
import { readConfig } from '../../../src/config.ts'
import { createPaidEngine, type PaidState, Unreachable } from '../../paid-engine.ts'

const backendUrl = process.env['PAID_BACKEND_URL'] ?? ''

async function ask(path: string): Promise<{ id: string | null; state: PaidState; refused: 'busy' }> {
  const response = await fetch(backendUrl + path, { method: 'POST' }).catch((error: unknown) => {
    const { code } = ((error as Error).cause ?? {}) as { code?: string }
    throw code === 'ECONNREFUSED' ? new Unreachable() : error
  })
  if (response.status === 429) return { id: null, state: 'running', refused: 'busy' }
  if (!response.ok) throw new Error(`the backend answered ${response.status}`)
  return (await response.json()) as Awaited<ReturnType<typeof ask>>
}

const engine = createPaidEngine('paid', {
  async submit(key) {
    const { id, refused } = await ask(`/submit/${key}`)
    return id === null ? { refused } : { id }
  },
  look: async (id) => (await ask(`/look/${id}`)).state,
  find: async (key) => (await ask(`/find/${key}`)).id,
  cancel: async (id) => (await ask(`/cancel/${id}`)).state,
  async fetch(id, run) {
    await ask(`/fetch/${id}`)
    copyFileSync(join(import.meta.dirname, '../../models/picture.png'), join(await run.folder(), 'out.png'))
    return ['out.png']
  },
  pause: () => sleep(50),
})
const app = await startApp(readConfig(process.env), { engines: [engine] })
process.stdout.write(`${JSON.stringify({ http_url: app.httpUrl, grpc_url: app.grpcUrl })}\n`)
process.on('SIGTERM', () => void app[Symbol.asyncDispose]().then(() => process.exit()))
