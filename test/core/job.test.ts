// The states of a job, and which may follow which (P14, P31, P34).
import { expect, test } from 'vitest'
import {
  creditsShown,
  isTerminal,
  type Job,
  jobStatuses,
  mayFollow,
  terminalStatuses,
} from '../../src/core/jobs/job.ts'

const machine: Record<string, readonly string[]> = {
  queued: ['running', 'canceled', 'expired'],
  running: ['succeeded', 'failed', 'canceled', 'queued', 'needs_review'],
  needs_review: ['succeeded', 'failed', 'queued'],
}

test('a job is queued, running, succeeded, failed, canceled, expired or needs_review', () => {
  expect(jobStatuses).toEqual(['queued', 'running', 'succeeded', 'failed', 'canceled', 'expired', 'needs_review'])
})

test.each(jobStatuses)('%s is followed by what the contract says, and nothing else', (from) => {
  const followers = jobStatuses.filter((to) => mayFollow(from, to))
  expect(followers.toSorted()).toEqual((machine[from] ?? []).toSorted())
})

test('terminal for a waiting client: succeeded, failed, canceled, expired, needs_review', () => {
  expect(terminalStatuses).toEqual(['succeeded', 'failed', 'canceled', 'expired', 'needs_review'])
  expect(jobStatuses.filter(isTerminal)).toEqual([...terminalStatuses])
})

test('credits show what is held while the job is active, and what was charged once it is terminal', () => {
  const active = { creditsHeld: 12, creditsCharged: 0, creditsReleased: 0 } as Job
  const charged = { creditsHeld: 12, creditsCharged: 5, creditsReleased: 7 } as Job
  const released = { creditsHeld: 12, creditsCharged: 0, creditsReleased: 12 } as Job
  expect([active, charged, released].map(creditsShown)).toEqual([12, 5, 0])
})
