// Every limit, in one table: its setting, its default, what it limits, and what a client sees beyond it.
// docs/limits.md is made from it (`npm run docs`); each has a test whose title begins with its variable.
import { mediaLimits as media } from './media-limits.ts'
import { type Limit, limit } from './setting.ts'

const huge = Number.MAX_SAFE_INTEGER

/** The limits of one request. */
const requests = {
  maxBodyBytes: limit(
    'MEDIAGEN_MAX_BODY_BYTES',
    1_048_576,
    [1024, 1_073_741_824],
    'Size of a request body as JSON, in bytes, over REST, gRPC and Connect',
    '413 `payload_too_large`',
  ),
  maxValues: limit(
    'MEDIAGEN_MAX_VALUES',
    20_000,
    [100, 10_000_000],
    'Values in a request: objects, lists, texts, numbers, booleans, `null`',
    '400 `invalid_request`, before it is parsed',
  ),
  maxViolations: limit(
    'MEDIAGEN_MAX_VIOLATIONS',
    100,
    [1, 1_000_000],
    'Violations listed in the refusal of a request',
    'One more entry says how many more there are',
  ),
  stallSeconds: limit(
    'MEDIAGEN_STALL_SECONDS',
    60,
    [1, 3600],
    'How long a client may take to send 65536 bytes, or the rest, of a body, a message or an upload, and to read as much of an answer',
    '`request_timeout`: 408 over HTTP, DEADLINE_EXCEEDED over gRPC; the connection is closed',
  ),
  waitSeconds: limit(
    'MEDIAGEN_WAIT_SECONDS',
    180,
    [1, 3600],
    'How long `wait=true` waits, and `wait_for_job` of MCP, which waits 50 seconds at most',
    '202 with the record',
  ),
}

/** The limits of waiting, for all requests together. */
const load = {
  maxQueueMs: limit(
    'MEDIAGEN_MAX_QUEUE_MS',
    1000,
    [10, 3_600_000],
    'How long requests may wait to be handled, and starts for the disk, in milliseconds; not `/healthz`, `/readyz`, `/metrics`',
    '503 `overloaded` for some requests',
  ),
  maxQueuedWrites: limit(
    'MEDIAGEN_MAX_QUEUED_WRITES',
    5000,
    [10, 1_000_000],
    'Changes that may wait for the disk at once',
    '503 `storage_unavailable`',
  ),
  maxQueuedReads: limit(
    'MEDIAGEN_MAX_QUEUED_READS',
    1000,
    [1, 1_000_000],
    'Lists that may wait to be read at once, and as many reports of usage with SQLite',
    '503 `overloaded`',
  ),
}

/** The limits of one caller. */
const callers = {
  rateLimit: limit(
    'MEDIAGEN_RATE_LIMIT',
    50,
    [0, 1_000_000],
    'Requests per second of a key, with a burst of the same size; a quote and a start are half a request each; 0 for no limit',
    '429 `rate_limited`',
  ),
  byteRate: limit(
    'MEDIAGEN_BYTE_RATE',
    2_097_152,
    [0, huge],
    'Bytes of request bodies, without files, per second of a key, with a burst of four seconds; each value of a request beyond a hundred counts as 64; 0 for no limit',
    '429 `rate_limited`, before the body is parsed',
  ),
  failedKeysPerMinute: limit(
    'MEDIAGEN_FAILED_KEYS_PER_MINUTE',
    60,
    [0, 1_000_000],
    'Requests per minute with an invalid API key, and sign-ins that fail, from one address (IPv6: one /64), with a burst of the same size; a valid key always works; 0 for no limit',
    '429 `rate_limited` in place of 401',
  ),
  maxWatchesPerAccount: limit(
    'MEDIAGEN_MAX_WATCHES_PER_ACCOUNT',
    500,
    [1, 1_000_000],
    'Open watches of an account in one process: `WatchJob` and `GET /v1/jobs/{job_id}/events`',
    '429 `rate_limited`',
  ),
  maxWatches: limit(
    'MEDIAGEN_MAX_WATCHES',
    10_000,
    [1, 1_000_000],
    'Open watches of all accounts in one process',
    '503 `overloaded`',
  ),
  maxWaitsPerAccount: limit(
    'MEDIAGEN_MAX_WAITS_PER_ACCOUNT',
    1000,
    [1, 1_000_000],
    'Open waits (`wait=true`) of an account in one process',
    'The job starts, with 202 at once',
  ),
  maxWaits: limit(
    'MEDIAGEN_MAX_WAITS',
    10_000,
    [1, 1_000_000],
    'Open waits of all accounts in one process',
    'The job starts, with 202 at once',
  ),
  maxQueuedJobs: limit(
    'MEDIAGEN_MAX_QUEUED_JOBS',
    1000,
    [1, 1_000_000_000],
    'Queued jobs of an account',
    '429 `too_many_jobs`',
  ),
  maxStoredUploadBytes: limit(
    'MEDIAGEN_UPLOAD_ROOM_BYTES',
    5_368_709_120,
    [65_536, huge],
    'Disk space of the uploads of an account, in bytes; a small file counts as 65536',
    '409 `too_many_uploads`',
  ),
}

/** The limits of connections to the HTTP port. */
const http = {
  maxConnections: limit(
    'MEDIAGEN_MAX_CONNECTIONS',
    10_000,
    [1, 1_000_000],
    'Connections to the HTTP port; at most half of `ulimit -n`',
    'An idle connection is closed, or the new one gets 503 `overloaded`',
  ),
  maxConnectionsPerAddress: limit(
    'MEDIAGEN_MAX_CONNECTIONS_PER_ADDRESS',
    1000,
    [1, 1_000_000],
    'The same from one client address (IPv6: one /64), except `MEDIAGEN_TRUSTED_PROXIES`',
    '429 `rate_limited`; the connection is closed',
  ),
  maxPipelined: limit(
    'MEDIAGEN_MAX_PIPELINED',
    16,
    [1, 10_000],
    'Pipelined requests of one connection that are processed at once',
    'Reading pauses until the first of them is answered',
  ),
  maxUnreadTotalBytes: limit(
    'MEDIAGEN_MAX_UNREAD_TOTAL_BYTES',
    268_435_456,
    [65_536, huge],
    'Bytes of answers on all connections that clients have not read. A connection whose answers wait is not read further, and closed after `MEDIAGEN_STALL_SECONDS` without progress',
    'The connections with the most are closed',
  ),
  maxDownloads: limit(
    'MEDIAGEN_MAX_DOWNLOADS',
    1000,
    [1, 1_000_000],
    'Downloads (`GET /assets/…`) at once; at most an eighth of `ulimit -n`. As many bundles of jobs',
    '503 `overloaded`',
  ),
  maxDownloadsPerAddress: limit(
    'MEDIAGEN_MAX_DOWNLOADS_PER_ADDRESS',
    100,
    [1, 1_000_000],
    'The same to one client address (IPv6: one /64); bundles of one account',
    '429 `rate_limited`',
  ),
}

/** The limits of connections to the gRPC port. */
const grpc = {
  maxGrpcConnections: limit(
    'MEDIAGEN_MAX_GRPC_CONNECTIONS',
    2000,
    [1, 1_000_000],
    'Connections to the gRPC port; at most an eighth of `ulimit -n`',
    'An idle connection, or the new one, is closed: `UNAVAILABLE`',
  ),
  maxGrpcConnectionsPerAddress: limit(
    'MEDIAGEN_MAX_GRPC_CONNECTIONS_PER_ADDRESS',
    200,
    [1, 1_000_000],
    'The same from one client address (IPv6: one /64), except `MEDIAGEN_TRUSTED_PROXIES`',
    'The connection is closed: `UNAVAILABLE`',
  ),
  maxStreams: limit(
    'MEDIAGEN_MAX_STREAMS',
    10_000,
    [1, 1_000_000],
    'Concurrent calls on one gRPC connection; a gateway has one for all its users',
    'Clients wait; a call that is started anyway is refused: `UNAVAILABLE`',
  ),
  maxKeylessStreams: limit(
    'MEDIAGEN_MAX_KEYLESS_STREAMS',
    100,
    [1, 1_000_000],
    'The same before a valid key was used on the connection',
    'Clients wait; a call that is started anyway is refused: `UNAVAILABLE`',
  ),
  keylessSeconds: limit(
    'MEDIAGEN_KEYLESS_SECONDS',
    30,
    [1, 86_400],
    'How long a gRPC connection, except from `MEDIAGEN_TRUSTED_PROXIES`, may stay open before a valid key is used on it',
    'The connection is closed: `UNAVAILABLE`',
  ),
  maxKeylessBytes: limit(
    'MEDIAGEN_MAX_KEYLESS_BYTES',
    1_048_576,
    [65_536, huge],
    'Bytes that it may send before that',
    'The connection is closed: `UNAVAILABLE`',
  ),
  maxResets: limit(
    'MEDIAGEN_MAX_RESETS',
    5000,
    [1, 1_000_000],
    'Unanswered calls per second that the client of one gRPC connection may cancel, with a burst of four seconds',
    'The connection is closed: `UNAVAILABLE`',
  ),
  maxFragments: limit(
    'MEDIAGEN_MAX_FRAGMENTS',
    5000,
    [100, 1_000_000],
    'DATA frames per second on one gRPC connection with less than 64 bytes that do not complete a message',
    'The connection is closed: `UNAVAILABLE`',
  ),
  maxKeylessCalls: limit(
    'MEDIAGEN_MAX_KEYLESS_CALLS',
    50,
    [1, 1_000_000],
    'gRPC calls per second from one address on connections without a valid key, with a burst of thirty seconds',
    'The connection is closed: `UNAVAILABLE`',
  ),
  maxGrpcBytes: limit(
    'MEDIAGEN_MAX_GRPC_BYTES',
    268_435_456,
    [1_048_576, huge],
    'Bytes of all unfinished gRPC requests and unread answers',
    'The oldest calls end: `overloaded` for a request, `RESOURCE_EXHAUSTED` for an answer',
  ),
  maxGrpcConnectionBytes: limit(
    'MEDIAGEN_MAX_GRPC_CONNECTION_BYTES',
    67_108_864,
    [65_536, huge],
    'The same on one connection',
    'The same for the calls of the connection',
  ),
  maxOpenRequestBytes: limit(
    'MEDIAGEN_MAX_OPEN_REQUEST_BYTES',
    4096,
    [256, 1_048_576],
    'Size of a gRPC request that needs no key: health, reflection, a provider’s webhook that a gateway passes on',
    '`RESOURCE_EXHAUSTED` (`payload_too_large`)',
  ),
}

/** The limits of webhooks. */
const webhooks = {
  webhookEndpoints: limit(
    'MEDIAGEN_WEBHOOK_ENDPOINTS',
    10,
    [1, 1000],
    'Webhook endpoints of an account',
    '409 `too_many_webhooks`',
  ),
  webhookSlots: limit(
    'MEDIAGEN_WEBHOOK_PLACES',
    128,
    [2, 4096],
    'Concurrent deliveries of a process',
    'The delivery waits',
  ),
  webhookUnprovenSlots: limit(
    'MEDIAGEN_WEBHOOK_UNPROVEN_PLACES',
    64,
    [1, 4096],
    'How many of them may go to unproven endpoints, which have not answered yet, or took a third of `MEDIAGEN_WEBHOOK_SECONDS` and have not answered eleven times since; at most one to each endpoint, two to each account; and how many tests of endpoints may be under way besides',
    'The delivery waits',
  ),
  webhookSlotsPerAccount: limit(
    'MEDIAGEN_WEBHOOK_PLACES_PER_ACCOUNT',
    4,
    [1, 4096],
    'Concurrent deliveries to endpoints of one account, by all processes together',
    'The delivery waits',
  ),
  webhookSlotsPerEndpoint: limit(
    'MEDIAGEN_WEBHOOK_PLACES_PER_ENDPOINT',
    2,
    [1, 4096],
    'Concurrent deliveries to one endpoint, by all processes together; and concurrent tests of an account’s endpoints in a process',
    'The delivery waits',
  ),
  webhookSeconds: limit(
    'MEDIAGEN_WEBHOOK_SECONDS',
    15,
    [1, 300],
    'How long an endpoint may take to answer',
    'The attempt fails; the delivery is tried again later',
  ),
  webhookAnswerBytes: limit(
    'MEDIAGEN_WEBHOOK_ANSWER_BYTES',
    65_536,
    [0, 1_073_741_824],
    'Bytes of an endpoint’s answer that are read',
    'The connection is closed; the status counts',
  ),
  webhookAttempts: limit(
    'MEDIAGEN_WEBHOOK_ATTEMPTS',
    12,
    [1, 50],
    'Attempts of a delivery',
    'The delivery is given up: `failed`',
  ),
}

/** The limits of what clients may make the server log. */
const log = {
  maxRefusalLines: limit(
    'MEDIAGEN_MAX_REFUSAL_LINES',
    10,
    [0, 1_000_000],
    'Log lines per second about refused callers without a valid key',
    'One line per second says how many more were refused, by code',
  ),
}

/** The bounds as docs/limits.md groups them. */
export const limitGroups: Readonly<Record<string, Readonly<Record<string, Limit>>>> = {
  'One request': requests,
  'All requests together': load,
  'One caller': callers,
  'The HTTP port': http,
  'The gRPC port': grpc,
  'Media and rendering': media,
  Webhooks: webhooks,
  'The log': log,
}

/** All bounds. */
export const limits = { ...requests, ...load, ...callers, ...http, ...grpc, ...media, ...webhooks, ...log } as const
