// The records of the REST interface, named. openapi.ts is generated from the document that servers publish (`npm run docs`).
import type { Job, Problem as KnownProblem } from './openapi.ts'

export type { Entry, File, Job, Model, ModelDetail, Output, Quote, Wallet } from './openapi.ts'

/** An error as in RFC 9457. A newer server may have codes that this client does not know. */
export type Problem = Omit<KnownProblem, 'code'> & { code: string }

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** The input of a model; `GET /v1/models/{model}` has its schema. */
export type Input = { readonly [name: string]: Json }

/** A page of a list. */
export interface Page<Item> {
  readonly data: readonly Item[]
  readonly total: number
  readonly has_more: boolean
}

/** Whether a job has ended: nothing more happens to it, unless an operator resolves its review. */
export function isTerminal({ status }: Pick<Job, 'status'>): boolean {
  return status !== 'queued' && status !== 'running'
}
