// The files of a job that has ended, for its owner: the port that reads them.
import type { Job } from '../jobs/job.ts'

/** A file of a job, or one that is gone. */
export interface JobFile {
  /** A relative path, unique within the job, such as `outputs/1.png`: letters, digits, `_`, `-`, `.` and one `/`. */
  readonly path: string
  readonly bytes: number
  /** Null, with the reason in `missing`, if it cannot be had. Whoever opens it reads or destroys it. */
  readonly content: (NodeJS.ReadableStream & { destroy(): void }) | null
  /** Why it cannot be had, in words; null if it can. */
  readonly missing: string | null
}

/** Reads the files of jobs, one after the other: the next one is opened when it is asked for. */
export interface JobFiles {
  /**
   * @param references what its input refers to, as `Model.mediaOf` finds it
   * @param withUploads whether the caller may read uploads
   */
  read(
    job: Job,
    references: readonly { readonly pointer: string; readonly reference: string }[],
    withUploads: boolean,
  ): AsyncIterable<JobFile>
}
