// A fake cog server: one place, synchronous PUTs, and what was met of the real one (an ended id runs again; GET is 405).
import type { FakeUpstream } from './fake.ts'
import { tinyPng } from './fake.ts'
import { keepToPublished } from './published.ts'

/** A fake cog server. */
export function createFakeCog(
  options: { readonly fails?: string; readonly health?: string; readonly output?: unknown } = {},
): FakeUpstream & { readonly ran: readonly string[]; readonly canceled: readonly string[]; busy: number } {
  const { fails, health = 'READY', output = [`data:image/png;base64,${tinyPng.toString('base64')}`] } = options
  const ran: string[] = []
  const canceled: string[] = []
  const state = { busy: 0 }
  const fake = Object.assign(state, {
    ran,
    canceled,
    answer({ method, path, json }: Parameters<FakeUpstream['answer']>[0]) {
      if (path === '/health-check') return { status: 200, json: { status: health } }
      const [, id = '', cancel] = /^\/predictions\/([^/]+)(\/cancel)?$/.exec(path) ?? []
      if (id === '') return { status: 404, json: { detail: 'Not Found' } }
      if (cancel) {
        canceled.push(id)
        return { status: 404, json: {} }
      }
      if (method !== 'PUT') return { status: 405, json: { detail: 'Method Not Allowed' } }
      if (state.busy > 0) {
        state.busy -= 1
        return { status: 409, json: { detail: 'Already running a prediction' } }
      }
      const { input } = (json ?? {}) as { input?: { prompt?: unknown } }
      if (typeof input?.prompt !== 'string')
        return {
          status: 422,
          json: { detail: [{ loc: ['body', 'input', 'prompt'], msg: 'Field required', type: 'missing' }] },
        }
      ran.push(id)
      const made = fails === undefined ? { status: 'succeeded', output } : { status: 'failed', error: fails }
      return { status: 200, json: { id, input, ...made, metrics: { predict_time: 0.5 } } }
    },
  })
  return keepToPublished('cog', fake)
}
