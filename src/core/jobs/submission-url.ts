// The callback URLs by which providers report on a submission. Each ends in a MAC of its provider, job and number, so it cannot
// be guessed.
import { createHmac, timingSafeEqual } from 'node:crypto'

export interface Submission {
  readonly provider: string
  readonly jobId: string
  readonly n: number
}

/** Reports of providers about submissions. */
export interface SubmissionNotifications {
  /**
   * Keeps the provider's id of a submission; null keeps nothing.
   * @returns whether the address, whose last part is `token`, is one that we gave
   */
  receive(submission: Submission, token: string, upstreamId: string | null): Promise<boolean>
}

/** Whether a provider may have given such an id. */
export function isUpstreamId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= 255
}

/** The path of a submission below the server's address. */
export function toSubmissionPath(submission: Submission, secret: Uint8Array): string {
  const { provider, jobId, n } = submission
  return `/submissions/${encodeURIComponent(provider)}/${jobId}/${n}/${toToken(submission, secret)}`
}

/** Whether one of the secrets made the token. */
export function isSubmissionToken(submission: Submission, token: string, secrets: readonly Uint8Array[]): boolean {
  const given = Buffer.from(token)
  return secrets.some((secret) => {
    const right = Buffer.from(toToken(submission, secret))
    return given.length === right.length && timingSafeEqual(given, right)
  })
}

function toToken({ provider, jobId, n }: Submission, secret: Uint8Array): string {
  // The secret also signs other texts; none of them begins like this.
  const named = JSON.stringify(['submission', provider, jobId, n])
  return createHmac('sha256', secret).update(named).digest('base64url')
}
