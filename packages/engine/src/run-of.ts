// A run of an engine outside of the service, for tests and tools: a job without media, checkpoint or limits.
import type { EngineRun } from './engine.ts'

/** A run in `folder` with the given fields. */
export function runOf({ folder, ...fields }: Partial<Omit<EngineRun, 'folder'>> & { folder: string }): EngineRun {
  return {
    jobId: 'job_1',
    model: 'acme/test',
    owner: 'acct_1',
    attempt: 1,
    input: {},
    checkpoint: null,
    signal: new AbortController().signal,
    media: async () => new Map(),
    folder: async () => folder,
    onProgress: () => {},
    saveCheckpoint: async () => {},
    waiting: (turn) => turn,
    preview: () => {},
    download: () => Promise.reject(new Error('nothing is downloaded here')),
    ...fields,
  }
}
