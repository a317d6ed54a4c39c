// Every bound of every door, in one table: its setting, its default, what it bounds, and what goes past it hears.
// docs/limits.md is made from it (`npm run docs`); each has a test whose title begins with its variable.
import { integer, type Setting } from './setting.ts'

/** A setting that bounds something. */
export interface Limit extends Setting<number> {
  /** What happens to whatever goes past it, as the client sees it. */
  readonly beyond: string
}

/** A bound: whole numbers, `least` to `most`. */
function limit(
  env: string,
  fallback: number,
  [least, most]: readonly [number, number],
  help: string,
  beyond: string,
): Limit {
  return { ...integer(env, fallback, least, most, help), beyond }
}

const huge = Number.MAX_SAFE_INTEGER

/** What one request may be. */
const requests = {
  maxBodyBytes: limit(
    'MEDIAGEN_MAX_BODY_BYTES',
    1_048_576,
    [1024, 1_073_741_824],
    'Largest request body as JSON, in bytes, at every door',
    '413 `payload_too_large`',
  ),
  stallSeconds: limit(
    'MEDIAGEN_STALL_SECONDS',
    60,
    [1, 3600],
    'How long 65536 bytes of what a client sends may take, body or upload, over HTTP and gRPC',
    '408 `request_timeout`, and the connection is closed',
  ),
  waitSeconds: limit(
    'MEDIAGEN_WAIT_SECONDS',
    180,
    [1, 3600],
    'How long `wait=true` waits at the most',
    'The record as it is then, 202',
  ),
}

/** What one caller may ask. */
const callers = {
  rateLimit: limit(
    'MEDIAGEN_RATE_LIMIT',
    50,
    [0, 1_000_000],
    'Requests a second for each key, with a burst of as many; 0 for no limit',
    '429 `rate_limited`',
  ),
  maxQueuedJobs: limit(
    'MEDIAGEN_MAX_QUEUED_JOBS',
    1000,
    [1, 1_000_000_000],
    'Queued jobs that an account may have',
    '429 `too_many_jobs`',
  ),
  maxStoredUploadBytes: limit(
    'MEDIAGEN_UPLOAD_ROOM_BYTES',
    5_368_709_120,
    [65_536, huge],
    'Room that the uploads of an account may take, in bytes; a small file counts as 65536',
    '409 `too_many_uploads`',
  ),
}

/** What connections may take of the HTTP port. */
const http = {}

/** What connections may take of the gRPC port. */
const grpc = {}

/** What the media of a job may be, and what making them may take. */
const media = {
  maxUploadBytes: limit(
    'MEDIAGEN_MAX_UPLOAD_BYTES',
    104_857_600,
    [1024, huge],
    'Largest file of `POST /v1/files`, in bytes',
    '413 `payload_too_large`',
  ),
  maxInputBytes: limit(
    'MEDIAGEN_MAX_INPUT_BYTES',
    104_857_600,
    [1024, huge],
    'Media that one job is handed (`format: media`), all its files together, in bytes',
    'The job fails with `invalid_media`, its credits are back',
  ),
  mediaFetchSeconds: limit(
    'MEDIAGEN_MEDIA_FETCH_SECONDS',
    60,
    [1, 3600],
    'How long fetching one file from a URL in an input may take',
    'The job fails with `invalid_media`, its credits are back',
  ),
  maxOutputBytes: limit(
    'MEDIAGEN_MAX_OUTPUT_BYTES',
    2_147_483_648,
    [1024, huge],
    'Outputs of one job, all its files together, in bytes; what writes more is ended',
    'The job fails, its credits are back',
  ),
  childProcesses: limit(
    'MEDIAGEN_CHILD_PROCESSES',
    0,
    [0, 1024],
    'Built-in engine processes at the same time, one job each; 0 for one a core',
    'The job waits in the queue',
  ),
  childSeconds: limit(
    'MEDIAGEN_CHILD_SECONDS',
    600,
    [1, 86_400],
    'How long a built-in engine process may work on one job; then it is ended',
    'The job fails, its credits are back',
  ),
  childMemoryBytes: limit(
    'MEDIAGEN_CHILD_MEMORY_BYTES',
    1_610_612_736,
    [134_217_728, huge],
    'Memory of one process that renders, or decodes outputs to check them, with an FFmpeg that it runs, in bytes; beyond it the process is ended',
    'The job fails, its credits are back',
  ),
}

/** What webhooks may take. */
const webhooks = {}

/** The bounds as docs/limits.md groups them. */
export const limitGroups: Readonly<Record<string, Readonly<Record<string, Limit>>>> = {
  'One request': requests,
  'One caller': callers,
  'The HTTP port': http,
  'The gRPC port': grpc,
  'Media and what makes them': media,
  Webhooks: webhooks,
}

/** All bounds. */
export const limits = { ...requests, ...callers, ...http, ...grpc, ...media, ...webhooks } as const
