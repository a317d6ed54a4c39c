// Words and figures of the operator's console that no server is needed for: nothing that AdminService knows is without a word.
import { expect, test } from 'vitest'
import { JobStatus } from '../../gen/mediagen/v1/generation_pb.ts'
import { permissions } from '../../src/core/accounts/key.ts'
import { describeChange, findChanges } from '../../web/admin/changes.ts'
import { parseRoute, pageNames, toHash } from '../../web/admin/route.ts'
import { describeJobStatus, formatDuration, jobFilters, permissionWords } from '../../web/admin/words.ts'
import { toTable } from '../../web/csv.ts'

test('every permission and every state of a job has its words', () => {
  expect(permissionWords.map(({ name }) => name).toSorted()).toEqual([...permissions].toSorted())
  const states = Object.values(JobStatus).filter((one) => typeof one === 'number' && one !== JobStatus.UNSPECIFIED)
  expect(jobFilters.map(([, status]) => status)).toEqual(states)
  expect(new Set(states.map((status) => describeJobStatus(status as JobStatus).word)).size).toBe(states.length)
})

test('an act is said field by field, and what it left as it was is not', () => {
  const before = { name: 'Press', available: 0, limits: { daily: 100, models: ['a', 'b'] }, note: null }
  const after = { name: 'Press', available: 500, limits: { models: [] }, reason: 'paid' }
  expect(findChanges(before, after).map(describeChange)).toEqual([
    'available: 0 → 500',
    'limits.daily: 100 → none',
    'limits.models: a, b → none',
    'reason: paid',
  ])
  expect(findChanges(undefined, { name: 'Press' }).map(describeChange)).toEqual(['name: Press'])
  expect(findChanges(after, after)).toEqual([])
})

test('addresses lead to the same page with the same filter', () => {
  for (const page of pageNames) expect(parseRoute(toHash(page))).toMatchObject({ page, id: '' })
  const { page, id, query } = parseRoute(toHash('jobs', '', { status: 'in review', model: 'a/b', account: '' }))
  expect([page, id, [...query]]).toEqual([
    'jobs',
    '',
    [
      ['status', 'in review'],
      ['model', 'a/b'],
    ],
  ])
  expect(parseRoute(toHash('accounts', 'acct_1'))).toMatchObject({ page: 'accounts', id: 'acct_1' })
  expect(parseRoute('#/nothing')).toMatchObject({ page: 'nowhere' })
  expect(parseRoute('#/accounts/%E0%A4%A')).toMatchObject({ page: 'accounts' })
})

test('spans are said in the unit that one counts in', () => {
  expect([0, 13, 89, 120, 5400, 7200, 259_200].map(formatDuration)).toEqual([
    'under 1 s',
    '13 s',
    '89 s',
    '2 min',
    '2 h',
    '2 h',
    '3 days',
  ])
})

test('no cell of a file is run as a formula, and numbers stay numbers', () => {
  expect(
    toTable([
      ['name', 'charged'],
      ['=1+1', -5n],
      ['a "b", c', undefined],
    ]),
  ).toBe(`name,charged\r\n'=1+1,-5\r\n"a ""b"", c",\r\n`)
})
