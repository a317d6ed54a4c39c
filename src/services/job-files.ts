// ReadJobFiles: the files of a job that has ended, as messages. Each stream holds a file open, so there is a bound.
import { create } from '@bufbuild/protobuf'
import { JobFileSchema } from '../../gen/mediagen/v1/generation_pb.ts'
import { MediagenError } from '../core/errors.ts'
import type { JobFile } from '../core/files/job-files.ts'
import { createSlots, type SlotBounds } from '../guards/slots.ts'

const retryFullSeconds = 5

/** Creates a function that sends files. @param bounds how many streams there may be, in all and for one account */
export function createJobFileStreams(bounds: SlotBounds) {
  const slots = createSlots(bounds)

  /** @throws MediagenError `rate_limited` or `overloaded`, which name the bound */
  return async function* (accountId: string, files: AsyncIterable<JobFile>, signal: AbortSignal) {
    const slot = slots.take(accountId)
    if (typeof slot === 'string') throw tooMany(slot, bounds)
    try {
      for await (const { path, bytes, content, missing } of files) {
        const facts = { path, bytes: BigInt(bytes), ...(missing !== null && { missing }) }
        try {
          yield { piece: { case: 'file' as const, value: create(JobFileSchema, facts) } }
          for await (const chunk of content ?? []) {
            signal.throwIfAborted()
            yield { piece: { case: 'chunk' as const, value: chunk as Uint8Array } }
          }
        } finally {
          content?.destroy()
        }
      }
    } finally {
      slot()
    }
  }
}

function tooMany(bound: 'perOwner' | 'inAll', { perOwner, inAll }: SlotBounds): MediagenError {
  return bound === 'inAll'
    ? new MediagenError(
        'overloaded',
        `This server sends ${inAll} bundles at once, which is the limit (MEDIAGEN_MAX_DOWNLOADS). Come back later.`,
        { retryAfterSeconds: retryFullSeconds },
      )
    : new MediagenError(
        'rate_limited',
        `The account fetches ${perOwner} bundles at once, which is the limit (MEDIAGEN_MAX_DOWNLOADS_PER_ADDRESS). Try again when some are complete.`,
        { retryAfterSeconds: retryFullSeconds },
      )
}
