// Requests whose clients hang up while their jobs are started or canceled (P255, P268).
import { createRouterTransport } from '@connectrpc/connect'
import type { FastifyRequest } from 'fastify'
import { expect, test } from 'vitest'
import { GenerationService, JobStatus } from '../../gen/mediagen/v1/generation_pb.ts'
import { type ErrorCode, MediagenError } from '../../src/core/errors.ts'
import { createCoreClient } from '../../src/gateway/core-client.ts'
import { createAttempts } from '../../src/openai/attempts.ts'
import { Generations } from '../../src/openai/generations.ts'
import { type End, startOnce } from '../../src/openai/repetitions.ts'
import { toConnectError } from '../../src/rpc/errors.ts'

/**
 * Equal requests to a core.
 * @param starts how it refuses starts
 * @param cancels how it refuses the first cancels; then it cancels
 */
function createFixture({ starts, cancels = [] }: { starts?: ErrorCode; cancels?: ErrorCode[] }) {
  const refuse = (code: ErrorCode) => toConnectError(new MediagenError(code, 'No.', { retryAfterSeconds: 0 }), 'req_x')
  let status: JobStatus = JobStatus.RUNNING
  const names: string[] = []
  const transport = createRouterTransport(({ service }) =>
    service(GenerationService, {
      run({ idempotencyKey }) {
        if (starts) throw refuse(starts)
        const replayed = names.includes(idempotencyKey)
        names.push(idempotencyKey)
        return { job: { jobId: idempotencyKey, status }, replayed }
      },
      cancelJob({ jobId }) {
        const refusal = cancels.shift()
        if (refusal) throw refuse(refusal)
        status = JobStatus.CANCELED
        return { job: { jobId, status } }
      },
    }),
  )
  const attempts = createAttempts(() => 0)
  const request = { headers: {}, url: '/v1/images/generations' } as unknown as FastifyRequest
  const order = { model: 'm', input: {}, count: 1, labels: {} }
  function send() {
    const ends: ((end: End) => void)[] = []
    const generations = new Generations(createCoreClient(transport), order, {})
    const started = startOnce(request, attempts, { generations, ceiling: 1, body: '' }, Date.now, (over) =>
      ends.push(over),
    )
    return { started, hangUp: () => ends.forEach((over) => over('abandoned')) }
  }
  return { send }
}

test('a client hangs up before its request is refused: nothing else fails', async () => {
  const { send } = createFixture({ starts: 'insufficient_credits' })
  const { started, hangUp } = send()
  hangUp()
  await expect(started).rejects.toThrow('insufficient_credits')
})

test('jobs that could not be canceled are joined', async () => {
  const { send } = createFixture({ cancels: ['internal'] })
  const { started, hangUp } = send()
  const group = await started
  hangUp()
  expect(await send().started).toEqual(group)
})

test('jobs are canceled as soon as the rate of the key allows it', async () => {
  const { send } = createFixture({ cancels: ['rate_limited', 'rate_limited'] })
  const { started, hangUp } = send()
  const group = await started
  hangUp()
  expect((await send().started).base).not.toBe(group.base)
})
