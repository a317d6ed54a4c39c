// What the server and a forked process say to each other: lines of JSON, requests on the process's standard input, replies on
// its file descriptor 3. Not Node's own channel, which takes in whatever a process sends, however long and however fast.
// A process has one task at a time, so replies carry no id.

/** Where a process replies. */
export const replyDescriptor = 3

/** From the process to the server. */
export type Reply =
  | { readonly type: 'ready' }
  | { readonly type: 'progress'; readonly fraction: number }
  | { readonly type: 'memory'; readonly rssBytes: number }
  | { readonly type: 'done'; readonly result: unknown }
  /** The task was refused or failed in words that the owner of the job may read. */
  | { readonly type: 'failed'; readonly code: string; readonly message: string; readonly retryable: boolean }
  /** A bug in the process: for the log only. */
  | { readonly type: 'broken'; readonly stack: string }
