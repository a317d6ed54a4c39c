// The part of the store that shares providers of media.
import type { ProviderStore } from '@mediagen/engine/provider-share.ts'
import type { GroupCommit } from '../threads/group-commit.ts'
import type { createProviderReads } from './providers.ts'

export function createProviderStore(
  writer: Pick<GroupCommit, 'submit'>,
  reads: ReturnType<typeof createProviderReads>,
): ProviderStore {
  return {
    enterProvider: (entry) => writer.submit('enterProvider', entry),
    leaveProvider: (provider, jobId) => writer.submit('leaveProvider', provider, jobId),
    pauseProvider: (provider, ms) => writer.submit('pauseProvider', provider, ms),
    findSubmission: (found) => writer.submit('findSubmission', found),
    adoptSubmission: (found) => writer.submit('adoptSubmission', found),
    foundSubmission: async (jobId, n) => reads.foundSubmission(jobId, n),
    isUpstreamTaken: async (provider, upstreamId, jobId) => reads.isUpstreamTaken(provider, upstreamId, jobId),
  }
}
