// What every error answer has in common, whatever it is about. docs/contract.md, section 3.
import { expect } from 'vitest'
import { type ErrorCode, retryable } from '../../src/core/errors.ts'
import { problemKinds } from '../../src/gateway/problems/problem-kinds.ts'

/** An answer that may be a problem. */
export interface ProblemAnswer {
  readonly status: number
  readonly headers: Headers
  // Tests look into answers at will.
  readonly body: any
}

/** Holds an answer against RFC 9457 and the contract's table. */
export function expectProblem(answer: ProblemAnswer, url: string, code: ErrorCode): void {
  const { status, headers, body } = answer
  expect([status, body?.code]).toEqual([problemKinds[code].http, code])
  expect(headers.get('content-type')).toMatch(/^application\/problem\+json(; charset=utf-8)?$/)
  expect(body).toMatchObject({
    type: `${url}/problems/${code}`,
    title: problemKinds[code].title,
    status,
    detail: expect.stringMatching(/\S.*\.$/s),
    retryable: retryable[code],
    request_id: headers.get('x-request-id'),
    error: { message: body.detail, code, type: expect.stringMatching(/_error$|^insufficient_quota$/) },
  })
}

/** The places that a problem lists. */
export function pointersOf(answer: ProblemAnswer): string[] {
  return (answer.body.errors ?? []).map((error: { pointer: string }) => error.pointer)
}
