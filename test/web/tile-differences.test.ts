// What tells tiles with the same words apart.
import { expect, test } from 'vitest'
import type { JobRecord, JsonObject } from '../../web/records.ts'
import { describeDifferences } from '../../web/tile-differences.ts'

const job = (job_id: string, input: JsonObject, model = 'm') => ({ job_id, model, input }) as unknown as JobRecord

test('jobs with the same words and model show the settings in which they differ, at most two', () => {
  const found = describeDifferences([
    job('a', { title: 'Fair', theme: 'dusk', seed: 7, size: 'a4', width: 1, operations: [{ blur: 1 }] }),
    job('b', { title: 'Fair', theme: 'noon', size: 'a4', operations: [] }),
    job('c', { title: 'Fair' }, 'other'),
    job('d', { title: 'Market', theme: 'dusk' }),
  ])
  expect([...found]).toEqual([
    ['a', 'Theme dusk · Seed 7'],
    ['b', 'Theme noon'],
  ])
})

test('a job that sets none of what its neighbours set has the defaults', () => {
  const found = describeDifferences([job('a', { prompt: 'x', style: 'ink' }), job('b', { prompt: 'x' })])
  expect([...found.values()]).toEqual(['Style ink', 'With defaults'])
})

test('jobs that are equal have nothing to say', () => {
  expect(describeDifferences([job('a', { prompt: 'x' }), job('b', { prompt: 'x' })]).size).toBe(0)
})
