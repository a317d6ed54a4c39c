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
    'Values that a request may hold: objects, lists, texts, numbers, `true`, `false`, `null`',
    '400 `invalid_request`, before it is parsed',
  ),
  maxViolations: limit(
    'MEDIAGEN_MAX_VIOLATIONS',
    100,
    [1, 1_000_000],
    'Violations that the refusal of a request lists',
    'One more entry says how many others there are',
  ),
  stallSeconds: limit(
    'MEDIAGEN_STALL_SECONDS',
    60,
    [1, 3600],
    'How long a client may take, at every door, to send 65536 bytes or the rest of a body, a message or an upload, and to read as much of an answer',
    '`request_timeout`: 408 and a closed connection over HTTP, DEADLINE_EXCEEDED over gRPC; a reader is cut off',
  ),
  waitSeconds: limit(
    'MEDIAGEN_WAIT_SECONDS',
    180,
    [1, 3600],
    'How long `wait=true` waits, and a call of `wait_for_job` over MCP',
    '202 with the record as it is then',
  ),
}

/** The limits of waiting, for all requests together. */
const load = {
  maxQueueMs: limit(
    'MEDIAGEN_MAX_QUEUE_MS',
    1000,
    [10, 3_600_000],
    'How long requests may wait to be handled, and starts for the disk, in milliseconds; it does not apply to `/healthz`, `/readyz` and `/metrics`',
    '503 `overloaded` for some requests, so that the others are answered in time; nothing is held',
  ),
  maxQueuedWrites: limit(
    'MEDIAGEN_MAX_QUEUED_WRITES',
    5000,
    [10, 1_000_000],
    'Changes by clients and operators that may wait for the disk at once',
    '503 `storage_unavailable`; nothing is held',
  ),
  maxQueuedReads: limit(
    'MEDIAGEN_MAX_QUEUED_READS',
    1000,
    [1, 1_000_000],
    'Lists that may wait to be read at once',
    '503 `overloaded`',
  ),
}

/** The limits of one caller. */
const callers = {
  rateLimit: limit(
    'MEDIAGEN_RATE_LIMIT',
    50,
    [0, 1_000_000],
    'Requests per second for each key, with a burst of the same size, in all processes of an installation together; a quote and a start are half a request each; 0 for no limit',
    '429 `rate_limited`',
  ),
  byteRate: limit(
    'MEDIAGEN_BYTE_RATE',
    2_097_152,
    [0, huge],
    'Bytes of request bodies per second for each key, with a burst of four seconds, in all processes of an installation together; files do not count; 0 for no limit',
    '429 `rate_limited`, before the body is parsed',
  ),
  failedKeysPerMinute: limit(
    'MEDIAGEN_FAILED_KEYS_PER_MINUTE',
    60,
    [0, 1_000_000],
    'Requests per minute with an invalid API key from one address (IPv6: one /64), with a burst of the same size; 0 for no limit. A valid key always works',
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
    'Concurrent waiting starts of an account in one process (`wait=true`)',
    'The job is started, but not waited for: 202 with the record at once',
  ),
  maxWaits: limit(
    'MEDIAGEN_MAX_WAITS',
    10_000,
    [1, 1_000_000],
    'Concurrent waiting starts of all accounts in one process',
    'The job is started, but not waited for: 202 with the record at once',
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
    'Connections to the HTTP port; at most half of the files that the process may open (`ulimit -n`)',
    'An idle connection is closed to make room; if there is none, the new one gets 503 `overloaded` and is closed',
  ),
  maxConnectionsPerAddress: limit(
    'MEDIAGEN_MAX_CONNECTIONS_PER_ADDRESS',
    1000,
    [1, 1_000_000],
    'Connections to the HTTP port from one client address (IPv6: one /64); those of `MEDIAGEN_TRUSTED_PROXIES` are not counted',
    '429 `rate_limited`, and the connection is closed',
  ),
  maxPipelined: limit(
    'MEDIAGEN_MAX_PIPELINED',
    16,
    [1, 10_000],
    'Requests of one connection that are processed at once (pipelining)',
    'No further request is read until the first of them is answered',
  ),
  maxUnreadBytes: limit(
    'MEDIAGEN_MAX_UNREAD_BYTES',
    1_048_576,
    [1024, huge],
    'Bytes of answers that wait on one connection for the client to read them',
    'No further request is read until the client has read more; after `MEDIAGEN_STALL_SECONDS` without progress the connection is closed',
  ),
  maxUnreadTotalBytes: limit(
    'MEDIAGEN_MAX_UNREAD_TOTAL_BYTES',
    268_435_456,
    [65_536, huge],
    'The same on all connections together',
    'The connections with the most are closed',
  ),
  maxDownloads: limit(
    'MEDIAGEN_MAX_DOWNLOADS',
    1000,
    [1, 1_000_000],
    'Downloads (`GET /assets/…`) at once; at most an eighth of the files that the process may open',
    '503 `overloaded`',
  ),
  maxDownloadsPerAddress: limit(
    'MEDIAGEN_MAX_DOWNLOADS_PER_ADDRESS',
    100,
    [1, 1_000_000],
    'Downloads at once to one client address (IPv6: one /64)',
    '429 `rate_limited`',
  ),
}

/** The limits of connections to the gRPC port. */
const grpc = {
  maxGrpcConnections: limit(
    'MEDIAGEN_MAX_GRPC_CONNECTIONS',
    2000,
    [1, 1_000_000],
    'Connections to the gRPC port; at most an eighth of the files that the process may open',
    'An idle connection is closed to make room, or the new one at once: `UNAVAILABLE`',
  ),
  maxGrpcConnectionsPerAddress: limit(
    'MEDIAGEN_MAX_GRPC_CONNECTIONS_PER_ADDRESS',
    200,
    [1, 1_000_000],
    'Connections to the gRPC port from one client address (IPv6: one /64); those of `MEDIAGEN_TRUSTED_PROXIES` are not counted',
    'The connection is closed at once: `UNAVAILABLE`',
  ),
  maxStreams: limit(
    'MEDIAGEN_MAX_STREAMS',
    10_000,
    [1, 1_000_000],
    'Calls at once on one gRPC connection; a gateway has one connection for all its users',
    'The client waits until a call ends; a call that it starts anyway is refused: `UNAVAILABLE`',
  ),
  maxKeylessStreams: limit(
    'MEDIAGEN_MAX_KEYLESS_STREAMS',
    100,
    [1, 1_000_000],
    'Concurrent calls on one gRPC connection before a valid key was used on it',
    'The client waits until a call ends; a call that it starts anyway is refused: `UNAVAILABLE`',
  ),
  keylessSeconds: limit(
    'MEDIAGEN_KEYLESS_SECONDS',
    30,
    [1, 86_400],
    'How long a gRPC connection may stay open before a valid key is used on it, unless it comes from `MEDIAGEN_TRUSTED_PROXIES`',
    'The connection is closed: `UNAVAILABLE`; health checks connect again',
  ),
  maxKeylessBytes: limit(
    'MEDIAGEN_MAX_KEYLESS_BYTES',
    1_048_576,
    [65_536, huge],
    'Bytes that a gRPC connection may send before a valid key is used on it',
    'The connection is closed: `UNAVAILABLE`',
  ),
  maxResets: limit(
    'MEDIAGEN_MAX_RESETS',
    5000,
    [1, 1_000_000],
    'Calls per second that the client of one gRPC connection may cancel before they are answered, with a burst of four seconds',
    'The connection is closed: `UNAVAILABLE`',
  ),
  maxFragments: limit(
    'MEDIAGEN_MAX_FRAGMENTS',
    5000,
    [100, 1_000_000],
    'Pieces of gRPC requests (DATA frames) per second on one connection that bring less than 64 bytes and do not complete a message',
    'The connection is closed: `UNAVAILABLE`',
  ),
  maxKeylessCalls: limit(
    'MEDIAGEN_MAX_KEYLESS_CALLS',
    50,
    [1, 1_000_000],
    'gRPC calls per second from one address on connections on which no valid key was used, with a burst of thirty seconds',
    'The connection is closed: `UNAVAILABLE`',
  ),
  maxGrpcBytes: limit(
    'MEDIAGEN_MAX_GRPC_BYTES',
    268_435_456,
    [1_048_576, huge],
    'Bytes of all unfinished gRPC requests and of all answers that clients have not read',
    'The calls that began first are ended: `overloaded` for a request, `RESOURCE_EXHAUSTED` for an answer',
  ),
  maxGrpcConnectionBytes: limit(
    'MEDIAGEN_MAX_GRPC_CONNECTION_BYTES',
    67_108_864,
    [65_536, huge],
    'The same on one connection',
    'The calls of the connection that began first are ended in the same way',
  ),
  maxOpenRequestBytes: limit(
    'MEDIAGEN_MAX_OPEN_REQUEST_BYTES',
    4096,
    [256, 1_048_576],
    'Size of a gRPC request that needs no key: health, reflection, and what a gateway passes on of providers',
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
    'Deliveries that a process makes at the same time',
    'The delivery waits',
  ),
  webhookUnprovenSlots: limit(
    'MEDIAGEN_WEBHOOK_UNPROVEN_PLACES',
    64,
    [1, 4096],
    'How many of them may go to unproven endpoints: those that have not answered yet, or were slow (a third of `MEDIAGEN_WEBHOOK_SECONDS`) and have not answered eleven times since. At most one to each endpoint, two to each account',
    'The delivery waits',
  ),
  webhookSlotsPerAccount: limit(
    'MEDIAGEN_WEBHOOK_PLACES_PER_ACCOUNT',
    4,
    [1, 4096],
    'Deliveries to endpoints of one account at the same time, by all processes together',
    'The delivery waits',
  ),
  webhookSlotsPerEndpoint: limit(
    'MEDIAGEN_WEBHOOK_PLACES_PER_ENDPOINT',
    2,
    [1, 4096],
    'Deliveries to one endpoint at the same time, by all processes together',
    'The delivery waits',
  ),
  webhookSeconds: limit(
    'MEDIAGEN_WEBHOOK_SECONDS',
    15,
    [1, 300],
    'How long an endpoint may take to answer',
    'The attempt has failed, and the delivery is tried again later',
  ),
  webhookAnswerBytes: limit(
    'MEDIAGEN_WEBHOOK_ANSWER_BYTES',
    65_536,
    [0, 1_073_741_824],
    'How much of the answer of an endpoint is read, in bytes',
    'The connection is closed; the status counts',
  ),
  webhookAttempts: limit(
    'MEDIAGEN_WEBHOOK_ATTEMPTS',
    12,
    [1, 50],
    'Attempts at a delivery',
    'The delivery is given up: `failed`',
  ),
}

/** The limits of what clients may make the server log. */
const log = {
  maxRefusalLines: limit(
    'MEDIAGEN_MAX_REFUSAL_LINES',
    10,
    [0, 1_000_000],
    'Log lines per second about refused callers without a valid key; metrics count all',
    'Answers do not change; one line per second says how many more were refused, by code',
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
