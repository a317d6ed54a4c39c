// A fake stable-diffusion.cpp server: jobs under /sdcpp/v1 with their files inline; it forgets everything when it restarts.
import type { FakeAnswer, FakeRequest, FakeUpstream } from './fake.ts'
import { tinyPng } from './fake.ts'
import { keepToPublished } from './published.ts'

/** A fake stable-diffusion.cpp server. */
export function createFakeSdServer(
  options: { readonly polls?: number; readonly fails?: string } = {},
): FakeUpstream & { readonly jobs: Map<string, { polls: number; status: string }>; restart(): void } {
  const { polls = 2, fails } = options
  const jobs = new Map<string, { polls: number; status: string }>()
  let made = 0
  return keepToPublished('sd-server', {
    jobs,
    restart: () => jobs.clear(),
    answer({ method, path, json }: FakeRequest): FakeAnswer {
      if (path === '/sdcpp/v1/capabilities') return { status: 200, json: { supported_modes: ['img_gen'] } }
      if (method === 'POST' && path === '/sdcpp/v1/img_gen') {
        if (typeof (json as { prompt?: unknown } | null)?.prompt !== 'string')
          return { status: 400, json: { error: 'invalid_request', message: 'prompt is required' } }
        const id = `job_${(made += 1)}`
        jobs.set(id, { polls: 0, status: 'queued' })
        return {
          status: 202,
          json: { id, kind: 'img_gen', status: 'queued', created: 1, poll_url: `/sdcpp/v1/jobs/${id}` },
        }
      }
      const [, id = '', cancel] = /^\/sdcpp\/v1\/jobs\/([^/]+)(\/cancel)?$/.exec(path) ?? []
      const job = jobs.get(id)
      if (!job) return { status: 404, json: { error: 'not_found' } }
      if (cancel) job.status = 'cancelled'
      else if (job.status === 'queued' || job.status === 'generating') {
        job.polls += 1
        job.status = job.polls <= polls ? 'generating' : fails === undefined ? 'completed' : 'failed'
      }
      const errors: Record<string, object> = {
        failed: { code: 'generation_failed', message: fails },
        cancelled: { code: 'cancelled', message: 'job cancelled by client' },
      }
      const result = { output_format: 'png', images: [{ index: 0, b64_json: tinyPng.toString('base64') }] }
      return {
        status: 200,
        json: {
          id,
          kind: 'img_gen',
          status: job.status,
          created: 1,
          started: job.status === 'queued' ? null : 2,
          completed: job.status === 'queued' || job.status === 'generating' ? null : 3,
          queue_position: 0,
          result: job.status === 'completed' ? result : null,
          error: errors[job.status] ?? null,
        },
      }
    },
  })
}
