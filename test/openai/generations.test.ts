// The jobs of a request when not all can be started, and when a start is in doubt; what several may cost (P254, P255, P311).
import { createRouterTransport } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { GenerationService, JobStatus } from '../../gen/mediagen/v1/generation_pb.ts'
import { type ErrorCode, MediagenError } from '../../src/core/errors.ts'
import { createCoreClient } from '../../src/gateway/core-client.ts'
import { Generations, nameBases } from '../../src/openai/generations.ts'
import { toConnectError } from '../../src/rpc/errors.ts'

/**
 * Two jobs, of which the second cannot be started.
 * @param code why
 * @param status what the first is when it is canceled; null if that fails
 * @param replayed whether an earlier request has started the first
 */
function createFixture(code: ErrorCode, status: JobStatus | null, replayed = false) {
  const canceled: string[] = []
  const refusal = () => toConnectError(new MediagenError(code, 'No.'), 'req_x')
  const transport = createRouterTransport(({ service }) =>
    service(GenerationService, {
      run({ idempotencyKey }) {
        if (idempotencyKey.endsWith('-1')) throw refusal()
        return { job: { jobId: idempotencyKey, status: JobStatus.SUCCEEDED }, replayed }
      },
      cancelJob({ jobId }) {
        canceled.push(jobId)
        if (status === null) throw refusal()
        return { job: { jobId, status } }
      },
    }),
  )
  const order = { model: 'm', input: {}, count: 2, labels: {} }
  return { canceled, generations: new Generations(createCoreClient(transport), order, {}) }
}

test.each([JobStatus.CANCELED, JobStatus.RUNNING])('the others are canceled (%i)', async (status) => {
  const { canceled, generations } = createFixture('insufficient_credits', status)
  await expect(generations.start(['a'], 2)).rejects.toThrow('insufficient_credits')
  expect(canceled).toEqual(['openai-a-0'])
})

test.each([JobStatus.SUCCEEDED, JobStatus.NEEDS_REVIEW, null])(
  'what may be charged in spite of that is answered with (%s)',
  async (status) => {
    const { generations } = createFixture('insufficient_credits', status)
    const group = await generations.start(['a'], 2)
    expect(group).toEqual({ base: 'a', maxCredits: 1, count: 1, input: {} })
    const jobs = await generations.awaitEnds(group, new AbortController().signal)
    expect(jobs.map(({ jobId }) => jobId)).toEqual(['openai-a-0'])
  },
)

test('a job of an earlier request is not canceled when a repetition is refused', async () => {
  const { canceled, generations } = createFixture('rate_limited', JobStatus.CANCELED, true)
  await expect(generations.start(['a'], 2)).rejects.toThrow('rate_limited')
  expect(canceled).toEqual([])
})

test('P311 several are not priced before they join those of an earlier request, whatever has become of the price', async () => {
  let price = 3n
  const started = new Map<string, bigint>()
  // No service for quotes: nothing else could say a price.
  const transport = createRouterTransport(({ service }) =>
    service(GenerationService, {
      run({ idempotencyKey, maxCredits = 0n }) {
        const earlier = started.get(idempotencyKey)
        const code = earlier === undefined ? 'price_above_maximum' : 'idempotency_key_reused'
        const refused = earlier === undefined ? price > maxCredits : earlier !== maxCredits
        if (refused) throw toConnectError(new MediagenError(code, 'No.', { required: Number(price) }), 'req_x')
        started.set(idempotencyKey, maxCredits)
        return { job: { jobId: idempotencyKey, status: JobStatus.SUCCEEDED }, replayed: earlier !== undefined }
      },
    }),
  )
  const start = (base: string, ceiling: number) =>
    new Generations(createCoreClient(transport), { model: 'm', input: {}, count: 3, labels: {} }, {}).start(
      [base],
      ceiling,
    )
  const first = await start('a', 9)
  price = 4n
  expect(await start('a', 9)).toEqual(first)
  expect([...started.keys()]).toEqual(['openai-a-0', 'openai-a-1', 'openai-a-2'])
  const words = '3 of these cost 12 credits, and the request allows at most 9. Nothing was held.'
  await expect(start('b', 9)).rejects.toMatchObject({ code: 'price_above_maximum', message: words })
})

test('a start in doubt is neither refused nor canceled: the wait starts it under the same names', async () => {
  const { canceled, generations } = createFixture('shutting_down', JobStatus.CANCELED)
  expect(await generations.start(['a'], 2)).toEqual({ base: 'a', maxCredits: 1, count: 2, input: {} })
  expect(canceled).toEqual([])
})

test('equal requests have names of their own, the same in every process', () => {
  const take = (digest: string, period: number, from?: number) => nameBases(digest, period, from).next().value
  expect(take('a', 1)).toBe(take('a', 1))
  expect(new Set([take('a', 1), take('a', 2), take('a', 1, 1), take('b', 1)]).size).toBe(4)
})
