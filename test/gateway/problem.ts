// What every error answer has in common, whatever it is about. docs/contract.md, section 3.
import { expect } from 'vitest'
import { errorKinds, type ErrorCode } from '../../src/core/errors.ts'

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
  expect([status, body?.code]).toEqual([errorKinds[code].http, code])
  expect(headers.get('content-type')).toMatch(/^application\/problem\+json(; charset=utf-8)?$/)
  expect(body).toMatchObject({
    type: `${url}/problems/${code}`,
    title: errorKinds[code].title,
    status,
    detail: expect.stringMatching(/\S.*\.$/s),
    retryable: errorKinds[code].retryable,
    request_id: headers.get('x-request-id'),
  })
}

/** The places that a problem lists. */
export function pointersOf(answer: ProblemAnswer): string[] {
  return (answer.body.errors ?? []).map((error: { pointer: string }) => error.pointer)
}
