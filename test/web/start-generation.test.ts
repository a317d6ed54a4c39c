// One Idempotency-Key for each intention: kept over failed connections, given up with an answer. docs/contract.md, section 2.
import { expect, test } from 'vitest'
import { type CallOptions, Refusal, Unreachable } from '../../web/api.ts'
import type { ProblemRecord } from '../../web/records.ts'
import { GenerationStarter } from '../../web/start-generation.ts'

const quote = { quote_id: 'quote_1', model: 'm', credits: 3, expires_at: '2026-11-20T10:00:00.000Z' }
const refusal = (status: number, code: string): Refusal =>
  new Refusal({
    status,
    code,
    type: '',
    title: '',
    detail: code,
    retryable: false,
    request_id: '',
  } satisfies ProblemRecord)

/** A starter whose server answers with these, one after the other. */
function createStarter(...answers: unknown[]) {
  const sent: { key: string | undefined; body: unknown }[] = []
  const pauses: number[] = []
  let keys = 0
  const api = {
    async post<Answer>(_path: string, body?: unknown, options?: CallOptions): Promise<Answer> {
      sent.push({ key: options?.headers?.['idempotency-key'], body })
      const answer = answers.shift()
      if (answer instanceof Error) throw answer
      return answer as Answer
    },
  }
  const sleep = async (ms: number): Promise<void> => void pauses.push(ms)
  return { starter: new GenerationStarter(api, sleep, () => `key-${++keys}`), sent, pauses }
}

test('a failed connection is tried again with the same key and body', async () => {
  const { starter, sent, pauses } = createStarter(new Unreachable('gone'), new Unreachable('gone'), { job_id: 'job_1' })
  expect(await starter.start('m', { prompt: 'x' }, quote)).toEqual({ job_id: 'job_1' })
  expect(new Set(sent.map(({ key }) => key))).toEqual(new Set(['key-1']))
  expect(sent[2]?.body).toEqual({ model: 'm', input: { prompt: 'x' }, quote_id: 'quote_1' })
  expect(pauses).toEqual([500, 1500])
})

test('when no answer ever comes, the next press repeats the very same request, old quote included', async () => {
  const { starter, sent } = createStarter(...Array.from({ length: 4 }, () => new Unreachable('gone')), {
    job_id: 'job_1',
  })
  await expect(starter.start('m', { prompt: 'x' }, quote)).rejects.toThrow(Unreachable)
  expect(starter.pendingFor('m', { prompt: 'x' })).not.toBeNull()
  await starter.start('m', { prompt: 'x' }, { ...quote, quote_id: 'quote_2' })
  expect(sent.at(-1)).toEqual({ key: 'key-1', body: { model: 'm', input: { prompt: 'x' }, quote_id: 'quote_1' } })
})

test('another input is another intention', async () => {
  const { starter, sent } = createStarter(...Array.from({ length: 4 }, () => new Unreachable('gone')), {
    job_id: 'job_2',
  })
  await expect(starter.start('m', { prompt: 'x' }, quote)).rejects.toThrow(Unreachable)
  await starter.start('m', { prompt: 'y' }, quote)
  expect(sent.at(-1)?.key).toBe('key-2')
})

test('two presses that were answered are two generations', async () => {
  const { starter, sent } = createStarter({ job_id: 'job_1' }, { job_id: 'job_2' })
  await starter.start('m', {}, quote)
  await starter.start('m', {}, quote)
  expect(sent.map(({ key }) => key)).toEqual(['key-1', 'key-2'])
})

test('a refusal frees the key; a server that broke midway does not', async () => {
  const { starter, sent } = createStarter(refusal(402, 'insufficient_credits'), refusal(500, 'internal'), {
    job_id: 'job_1',
  })
  await expect(starter.start('m', {}, quote)).rejects.toThrow('insufficient_credits')
  await expect(starter.start('m', {}, quote)).rejects.toThrow('internal')
  await starter.start('m', {}, quote)
  expect(sent.map(({ key }) => key)).toEqual(['key-1', 'key-2', 'key-2'])
})
