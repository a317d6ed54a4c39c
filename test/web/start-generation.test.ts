// One Idempotency-Key for each intention: kept over failed connections, given up with an answer. docs/contract.md, section 2.
import { Refused, Unreachable } from '@mediagen/client/errors.ts'
import { expect, test } from 'vitest'
import type { JobRecord, ProblemRecord } from '../../web/records.ts'
import { type Attempt, GenerationStarter } from '../../web/start-generation.ts'

const quote = { quote_id: 'quote_1', model: 'm', credits: 3, expires_at: '2026-11-20T10:00:00.000Z' }
const refusal = (status: number, code: string): Refused =>
  new Refused({
    status,
    code,
    type: '',
    title: '',
    detail: code,
    retryable: status >= 500 || status === 429,
    request_id: '',
  } satisfies ProblemRecord)

/** A starter whose server answers with these, one after the other. */
function createStarter(...answers: unknown[]) {
  const sent: Attempt[] = []
  let keys = 0
  async function send(attempt: Attempt): Promise<JobRecord> {
    sent.push(attempt)
    const answer = answers.shift()
    if (answer instanceof Error) throw answer
    return answer as JobRecord
  }
  return { starter: new GenerationStarter(send, () => `key-${++keys}`), sent }
}
const gone = new Unreachable('here', 'gone')

test('when no answer ever comes, the next press repeats the very same request, old quote included', async () => {
  const { starter, sent } = createStarter(gone, { job_id: 'job_1' })
  await expect(starter.start('m', { prompt: 'x' }, quote)).rejects.toThrow(Unreachable)
  expect(starter.pendingFor('m', { prompt: 'x' })).not.toBeNull()
  await starter.start('m', { prompt: 'x' }, { ...quote, quote_id: 'quote_2' })
  expect(sent.at(-1)).toEqual({ idempotencyKey: 'key-1', model: 'm', input: { prompt: 'x' }, quote })
})

test('another input is another intention', async () => {
  const { starter, sent } = createStarter(gone, { job_id: 'job_2' })
  await expect(starter.start('m', { prompt: 'x' }, quote)).rejects.toThrow(Unreachable)
  await starter.start('m', { prompt: 'y' }, quote)
  expect(sent.at(-1)?.idempotencyKey).toBe('key-2')
})

test('two presses that were answered are two generations', async () => {
  const { starter, sent } = createStarter({ job_id: 'job_1' }, { job_id: 'job_2' })
  await starter.start('m', {}, quote)
  await starter.start('m', {}, quote)
  expect(sent.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['key-1', 'key-2'])
})

test('a refusal frees the key; a server that broke midway does not', async () => {
  const { starter, sent } = createStarter(refusal(402, 'insufficient_credits'), refusal(500, 'internal'), {
    job_id: 'job_1',
  })
  await expect(starter.start('m', {}, quote)).rejects.toThrow('insufficient_credits')
  await expect(starter.start('m', {}, quote)).rejects.toThrow('internal')
  await starter.start('m', {}, quote)
  expect(sent.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['key-1', 'key-2', 'key-2'])
})

test('a refusal for now, after an answer that may have been lost, keeps the key', async () => {
  const { starter, sent } = createStarter(refusal(429, 'rate_limited'), { job_id: 'job_1' })
  await expect(starter.start('m', {}, quote)).rejects.toThrow('rate_limited')
  await starter.start('m', {}, quote)
  expect(sent.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['key-1', 'key-1'])
})
