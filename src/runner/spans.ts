// The spans of a job that runs. The first run is a part of the trace of the start; another one, perhaps hours later, has a trace of
// its own with a link: it neither stretches the first nor inherits whether that was recorded.
import type { ClaimedJob } from '../core/jobs/job.ts'
import type { Span, Traces } from '../core/traces.ts'

/** Begins the span of a run, after that of the wait for it. */
export function openRunSpan({ job, trace }: ClaimedJob, traces: Traces): Span {
  const { jobId, accountId, keyId, model, attempts, creditsHeld, createdAtMs, startedAtMs } = job
  const facts = { 'mediagen.job.id': jobId, 'mediagen.account.id': accountId, 'mediagen.model': model }
  const isFirst = attempts === 1
  // Both times are those of the store.
  if (isFirst && startedAtMs !== null)
    traces.open('queue', { parent: trace, startMs: createdAtMs, facts }).end(startedAtMs)
  return traces.open('run', {
    kind: 'consumer',
    ...(isFirst ? { parent: trace } : { parent: null, link: trace }),
    facts: { ...facts, 'mediagen.key.id': keyId, 'mediagen.credits': creditsHeld, 'mediagen.attempt': attempts },
  })
}
