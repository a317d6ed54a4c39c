// A fake fal: a queue of requests that end after a few questions, results under the URLs that it gave, cancel.
import type { FakeAnswer, FakeRequest, FakeUpstream } from './fake.ts'
import { tinyPng } from './fake.ts'
import { keepToPublished } from './published.ts'

interface QueueRequest {
  readonly id: string
  readonly input: unknown
  readonly webhook: string | null
  status: 'IN_QUEUE' | 'IN_PROGRESS' | 'COMPLETED' | 'CANCELED'
  polls: number
}

/** A fake fal; every request costs money. */
export function createFakeFal(
  options: { readonly token?: string; readonly polls?: number; readonly fails?: object } = {},
): FakeUpstream & { readonly queue: readonly QueueRequest[] } {
  const { token, polls = 2, fails } = options
  const queue: QueueRequest[] = []
  return keepToPublished('fal', {
    queue,
    answer({ method, path, query, headers, json, origin }: FakeRequest): FakeAnswer {
      if (path.startsWith('/files/')) return { status: 200, headers: { 'content-type': 'image/png' }, body: tinyPng }
      if (token !== undefined && headers['authorization'] !== `Key ${token}`)
        return { status: 401, json: { detail: 'Cannot access application. Authentication is required.' } }
      const [, id, action = ''] = /^\/fal-ai\/flux\/requests\/([^/]+)(\/status|\/cancel)?$/.exec(path) ?? []
      const one = queue.find((request) => request.id === id)
      if (method === 'POST' && /^\/fal-ai\/flux\/[a-z]+$/.test(path)) {
        const created: QueueRequest = {
          id: `f${queue.length + 1}`,
          input: json,
          webhook: query.get('fal_webhook'),
          status: 'IN_QUEUE',
          polls: 0,
        }
        queue.push(created)
        // As the real one, whose requests are under the application and not under the whole path of the model.
        const at = `${origin}/fal-ai/flux/requests/${created.id}`
        return {
          status: 200,
          json: {
            status: 'IN_QUEUE',
            request_id: created.id,
            queue_position: 0,
            response_url: at,
            status_url: `${at}/status`,
            cancel_url: `${at}/cancel`,
          },
        }
      }
      if (!one) return { status: 404, json: { detail: 'Not Found' } }
      const ended = one.status === 'COMPLETED' || one.status === 'CANCELED'
      if (action === '/cancel') {
        if (ended) return { status: 400, json: { status: 'ALREADY_COMPLETED' } }
        one.status = 'CANCELED'
        return { status: 202, json: { status: 'CANCELLATION_REQUESTED' } }
      }
      if (action === '/status') {
        if (!ended) {
          one.polls += 1
          one.status = one.polls <= polls ? 'IN_PROGRESS' : 'COMPLETED'
        }
        const status = one.status === 'CANCELED' ? 'COMPLETED' : one.status
        const error =
          one.status === 'CANCELED' ? { error: 'Request was cancelled', error_type: 'client_cancelled' } : {}
        return { status: status === 'COMPLETED' ? 200 : 202, json: { status, request_id: one.id, ...error } }
      }
      if (!ended) return { status: 400, json: { detail: 'Request is still in progress' } }
      if (fails) return { status: 422, json: fails }
      return {
        status: 200,
        headers: { 'x-fal-billable-units': '1' },
        json: {
          images: [{ url: `${origin}/files/${one.id}.png`, width: 1, height: 1, content_type: 'image/png' }],
          timings: { inference: 0.7 },
          seed: 7,
          prompt: 'a boat',
        },
      }
    },
  })
}
