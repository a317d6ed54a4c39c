// The protocol between the server and a forked process: lines of JSON, requests on standard input, replies on file
// descriptor 3. Node's own channel is not used, because it accepts whatever a process sends, without bounds.
// A process has one task at a time, so replies carry no id.

/** File descriptor of the replies. */
export const replyDescriptor = 3

/** From the process to the server. */
export type Reply =
  | { readonly type: 'ready' }
  | { readonly type: 'progress'; readonly fraction: number }
  /** A file in the output folder that may be shown while the task goes on. */
  | { readonly type: 'draft'; readonly file: unknown }
  | { readonly type: 'memory'; readonly rssBytes: number }
  | { readonly type: 'done'; readonly result: unknown }
  /** The task was refused or failed; the owner of the job may read the message. */
  | { readonly type: 'failed'; readonly code: string; readonly message: string; readonly retryable: boolean }
  /** A bug in the process, for the log only; or the disk, with the code of the system. */
  | { readonly type: 'broken'; readonly stack: string; readonly code?: string | undefined }
