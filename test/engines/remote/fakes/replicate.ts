// A fake Replicate: predictions that end after a few questions, a list of them, cancel, models and an account.
import type { FakeAnswer, FakeRequest, FakeUpstream } from './fake.ts'
import { tinyPng } from './fake.ts'
import { keepToPublished } from './published.ts'

interface Prediction {
  readonly id: string
  readonly input: unknown
  readonly createdAtMs: number
  readonly webhook: string | null
  status: 'starting' | 'processing' | 'succeeded' | 'failed' | 'canceled' | 'aborted'
  polls: number
}

/** A fake Replicate; every prediction costs money. */
export function createFakeReplicate(options: {
  readonly nowMs: () => number
  readonly token?: string
  readonly polls?: number
  readonly fails?: string
  readonly outputsVanish?: boolean
}): FakeUpstream & { readonly predictions: readonly Prediction[] } {
  const { nowMs, token, polls = 2, fails, outputsVanish } = options
  const predictions: Prediction[] = []
  const find = (id = ''): Prediction | undefined => predictions.find((one) => one.id === id)

  function show(one: Prediction, origin: string): object {
    const ended = one.status === 'succeeded' || one.status === 'failed'
    return {
      id: one.id,
      model: 'acme/picture',
      version: 'hidden',
      input: one.input,
      output: one.status === 'succeeded' ? [`${origin}/delivery/${one.id}.png`] : null,
      error: one.status === 'failed' ? fails : null,
      logs: '',
      status: one.status,
      data_removed: false,
      created_at: new Date(one.createdAtMs).toISOString(),
      metrics: ended ? { predict_time: 1.5 } : {},
      urls: {
        web: `${origin}/p/${one.id}`,
        get: `${origin}/v1/predictions/${one.id}`,
        cancel: `${origin}/v1/predictions/${one.id}/cancel`,
      },
    }
  }

  function create({ json, origin }: FakeRequest): FakeAnswer {
    const { input, webhook = null } = (json ?? {}) as { input?: unknown; webhook?: string | null }
    if (typeof input !== 'object')
      return { status: 422, json: { title: 'Input validation failed', detail: '- input is required', status: 422 } }
    const id = `p${String(predictions.length + 1).padStart(4, '0')}`
    const one: Prediction = { id, input, webhook, createdAtMs: nowMs(), status: 'starting', polls: 0 }
    predictions.push(one)
    return { status: 201, json: show(one, origin) }
  }

  function list({ query, origin }: FakeRequest): FakeAnswer {
    const after = Date.parse(query.get('created_after') ?? '') || 0
    const results = predictions.filter((one) => one.createdAtMs >= after).toReversed()
    return { status: 200, json: { next: null, previous: null, results: results.map((one) => show(one, origin)) } }
  }

  function advance(one: Prediction): void {
    if (one.status !== 'starting' && one.status !== 'processing') return
    one.polls += 1
    one.status = one.polls <= polls ? 'processing' : fails === undefined ? 'succeeded' : 'failed'
  }

  return keepToPublished('replicate', {
    predictions,
    answer(request: FakeRequest): FakeAnswer {
      const { method, path, headers, origin } = request
      if (path.startsWith('/delivery/'))
        return outputsVanish
          ? { status: 404, body: 'gone' }
          : { status: 200, headers: { 'content-type': 'image/png' }, body: tinyPng }
      if (token !== undefined && headers['authorization'] !== `Bearer ${token}`)
        return {
          status: 401,
          json: {
            title: 'Unauthenticated',
            detail: `You did not pass a valid token: ${headers['authorization']}`,
            status: 401,
          },
        }
      const [, id, action] = /^\/v1\/predictions\/([^/]+)(\/cancel)?$/.exec(path) ?? []
      if (method === 'POST' && /^\/v1\/(models\/[^/]+\/[^/]+\/)?predictions$/.test(path)) return create(request)
      if (method === 'GET' && path === '/v1/predictions') return list(request)
      if (method === 'GET' && path === '/v1/account') return { status: 200, json: { username: 'acme' } }
      if (method === 'GET' && /^\/v1\/models\/[^/]+\/[^/]+$/.test(path))
        return { status: 200, json: { name: 'picture' } }
      const one = find(id)
      if (!one) return { status: 404, json: { detail: 'Not found.', status: 404 } }
      if (action) {
        if (one.status === 'starting' || one.status === 'processing') one.status = 'canceled'
      } else advance(one)
      return { status: 200, json: show(one, origin) }
    },
  })
}
