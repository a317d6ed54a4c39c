// Words that several commands print.
import { getSystemErrorMessage } from 'node:util'
import { describeProvenance } from '@mediagen/client/provenance-words.ts'
import type { Job } from '@mediagen/client/records.ts'
import type { Printed } from './print.ts'

/** `1 credit`, `2 credits`. */
export function countCredits(credits: number): string {
  return `${credits} ${credits === 1 ? 'credit' : 'credits'}`
}

/** What became of the money of a job that did not succeed; empty if `message` already says it, or says that it is undecided. */
export function describeCharge(charged: number, message: string): string {
  if (/ (?:was|were) charged| stay held/.test(message)) return ''
  return charged === 0
    ? ' Nothing was charged.'
    : ` ${countCredits(charged)} ${charged === 1 ? 'was' : 'were'} charged.`
}

/** Why a file cannot be used, for example `no such file or directory`. */
export function describeFileError(error: unknown): string {
  const { errno, message } = error as NodeJS.ErrnoException
  return errno === undefined ? message : getSystemErrorMessage(errno)
}

/** Where the outputs of a job say they come from, for each that says something; without a field if none does. */
export function describeOrigins({ outputs }: Pick<Job, 'outputs'>): Printed {
  const origin = outputs.flatMap(({ provenance }) => describeProvenance(provenance).join(' ') || [])
  return origin.length > 0 ? { origin } : {}
}
