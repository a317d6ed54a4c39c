// Starts the jobs of a request once: a repetition of an earlier request gets the jobs of that one.
import { setTimeout as pause } from 'node:timers/promises'
import { digestParts } from '@mediagen/engine/canonical-json.ts'
import type { FastifyRequest } from 'fastify'
import { parseIdempotencyKey } from '../core/text/idempotency-key.ts'
import { toMediagenError } from '../gateway/problems/problem.ts'
import { type Attempt, type Attempts, type Group, joinableMs } from './attempts.ts'
import { type Generations, nameBases } from './generations.ts'

// To cancel jobs while the rate of their key is used up.
const mostTries = 30

/** What a request starts, unless it is a repetition. */
export interface Start {
  readonly generations: Generations
  /** What all jobs may cost together. */
  readonly ceiling: number
  /** The body as text: the same for equal bodies. */
  readonly body: string
}

/** How a request is over: `abandoned` if the client hung up and its jobs are to be canceled. */
export type End = 'answered' | 'unanswered' | 'abandoned'

/**
 * The jobs of the request: those of an earlier one that it repeats, or new ones.
 * @param onEnd told how to say how the request ended
 */
export async function startOnce(
  request: FastifyRequest,
  attempts: Attempts,
  { generations, ceiling, body }: Start,
  nowMs: () => number,
  onEnd: (over: (end: End) => void) => void,
): Promise<Group> {
  const { headers: sent, caller } = request
  const keyId = caller?.keyId ?? ''
  const named = sent['idempotency-key']
  if (typeof named === 'string' && named !== '') {
    const key = parseIdempotencyKey(named)
    return generations.start([digestParts('idempotency-key', keyId, request.url, key)], ceiling)
  }
  const digest = digestParts(keyId, request.url, body)
  const isRetry = Number(sent['x-stainless-retry-count'] ?? 0) >= 1
  const period = Math.floor(nowMs() / joinableMs)

  const startNew = async (): Promise<Group> => {
    const mayRead = caller?.permissions.includes('jobs:read') ?? false
    const earlier = isRetry && mayRead ? await findElsewhere(generations, digest, period, nowMs) : null
    if (earlier !== null) return generations.start([earlier.base], ceiling, earlier.input)
    return generations.start(nameBases(digest, period, attempts.takeOrdinal(digest, period)), ceiling)
  }
  const follow = async ({ clients, started }: Attempt): Promise<Group> =>
    (await clients.canceled) ? startNew() : started
  // Nothing is awaited between the two: a third request sees both.
  const name = { account: caller?.accountId ?? '', digest }
  const joined = attempts.join(name, isRetry)
  const clients = joined?.clients.canceled === null ? joined.clients : undefined
  const attempt = attempts.begin(name, joined ? follow(joined) : startNew(), body.length, clients)
  onEnd((end) => {
    attempts.end(attempt, end === 'answered')
    if (end === 'abandoned' && attempt.clients.waiting === 0) attempt.clients.canceled = cancel(generations, attempt)
  })
  return attempt.started
}

/**
 * Whether the jobs ended without a charge. Otherwise they go on, and an equal request joins them. Never rejects: nobody may be
 * waiting for it.
 */
async function cancel(generations: Generations, { started }: Attempt): Promise<boolean> {
  const group = await started.catch(() => null)
  // Nothing was started.
  if (group === null) return true
  for (let tries = 1; ; tries += 1) {
    try {
      return await generations.cancel(group)
    } catch (error) {
      const { code, details } = toMediagenError(error)
      // Many clients of a key may hang up at once.
      if (code !== 'rate_limited' || tries === mostTries) return false
      await pause((details.retryAfterSeconds ?? 1) * 1000, undefined, { ref: false })
    }
  }
}

/** The latest of equal requests that another process took, or this one before it was restarted. */
async function findElsewhere(
  generations: Generations,
  digest: string,
  period: number,
  nowMs: () => number,
): Promise<Pick<Group, 'base' | 'input'> | null> {
  for (const one of [period, period - 1]) {
    let latest: Pick<Group, 'base' | 'input'> | null = null
    for (const base of nameBases(digest, one)) {
      const found = await generations.findFirst(base)
      if (found === null) break
      if (!found.isCanceled && nowMs() - found.startedMs <= joinableMs) latest = { base, input: found.input }
    }
    if (latest !== null) return latest
  }
  return null
}
