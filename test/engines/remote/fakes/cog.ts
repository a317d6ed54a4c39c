// A fake cog server as 0.16 answers: one place, synchronous PUTs, an id that runs is not run again (202) and one that ended is, a
// GET is 405, a cancel makes the PUT end with `canceled`, and a client that leaves cancels nothing.
import type { FakeAnswer, FakeRequest, FakeUpstream } from './fake.ts'
import { tinyPng } from './fake.ts'
import { keepToPublished } from './published.ts'

interface FakeCog extends FakeUpstream {
  /** Ids of what was begun. */
  readonly ran: readonly string[]
  readonly canceled: readonly string[]
  busy: number
}

/** A fake cog server. A prediction of one that `holds` goes on until it is canceled. */
export function createFakeCog(
  options: {
    readonly fails?: string
    readonly health?: string
    readonly output?: unknown
    readonly holds?: boolean
  } = {},
): FakeCog {
  const { fails, health = 'READY', output = [`data:image/png;base64,${tinyPng.toString('base64')}`], holds } = options
  const ran: string[] = []
  const canceled: string[] = []
  const running = new Map<string, () => void>()
  const state = { busy: 0 }

  function cancel(id: string): FakeAnswer {
    canceled.push(id)
    const end = running.get(id)
    end?.()
    return { status: end ? 200 : 404, json: {} }
  }

  function predict(id: string, json: unknown): FakeAnswer | Promise<FakeAnswer> {
    const { input } = (json ?? {}) as { input?: { prompt?: unknown } }
    if (running.has(id)) return { status: 202, json: { id, input, status: 'processing', output: null } }
    if (state.busy > 0 || running.size > 0) {
      state.busy = Math.max(0, state.busy - 1)
      return { status: 409, json: { detail: 'Already running a prediction' } }
    }
    if (typeof input?.prompt !== 'string')
      return {
        status: 422,
        json: { detail: [{ loc: ['body', 'input', 'prompt'], msg: 'Field required', type: 'missing' }] },
      }
    ran.push(id)
    if (holds)
      return new Promise((done) =>
        running.set(id, () => {
          running.delete(id)
          done({ status: 200, json: { id, input, output: null, error: null, status: 'canceled', metrics: null } })
        }),
      )
    const made =
      fails === undefined
        ? { status: 'succeeded', output, error: null }
        : { status: 'failed', output: null, error: fails }
    return { status: 200, json: { id, input, ...made, metrics: { predict_time: 0.5 } } }
  }

  const fake = Object.assign(state, {
    ran,
    canceled,
    answer({ method, path, json }: FakeRequest) {
      if (path === '/health-check')
        return { status: 200, json: { status: running.size > 0 ? 'BUSY' : health, setup: { status: 'succeeded' } } }
      const [, id = '', action] = /^\/predictions\/([^/]+)(\/cancel)?$/.exec(path) ?? []
      if (id === '') return { status: 404, json: { detail: 'Not Found' } }
      if (action) return cancel(id)
      return method === 'PUT' ? predict(id, json) : { status: 405, json: { detail: 'Method Not Allowed' } }
    },
  })
  return keepToPublished('cog', fake)
}
