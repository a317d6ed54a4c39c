// The only reader of the environment: one table of settings, parsed into one frozen Config, or one error that lists every problem.
import { resolve } from 'node:path'
import { parseProgramLimitsText } from '@mediagen/engine/program-limits.ts'
import { parseCreditPrice } from './core/credits/price.ts'
import { StartupError } from './core/errors.ts'
import { suggest } from './core/text/similar-names.ts'
import { parseBucketAddress } from './files/blobs/s3-address.ts'
import { parseProxies } from './guards/client-address.ts'
import { parseLabelHeaders } from './guards/label-headers.ts'
import { limits } from './limits.ts'
import { parseAllowedHosts } from './outgoing/hosts.ts'
import { parseAllowedPorts } from './outgoing/ports.ts'
import {
  parseBoolean,
  parseCredits,
  parseDatabaseUrl,
  parseDays,
  parseLogLevel,
  parseOrigin,
  parseOrigins,
  parsePath,
  parsePort,
  parseProgram,
  parseTimeZone,
  parseUrl,
  parseUser,
} from './setting-parsers.ts'
import { integer, text } from './setting.ts'
import { signInSettings } from './sign-in-settings.ts'
import { traceSettings } from './trace-settings.ts'

/** The settings that are not limits; those are in limits.ts. docs/settings.md is made from this table (`npm run docs`). */
export const generalSettings = {
  dataDir: text('MEDIAGEN_DATA_DIR', './data', 'Folder for the database and all files', (value) => resolve(value)),
  databaseUrl: text(
    'MEDIAGEN_DATABASE_URL',
    '',
    '`postgres://user:password@host/name` (PostgreSQL 15 or later); empty for SQLite in the data directory',
    parseDatabaseUrl,
  ),
  databaseListenUrl: text(
    'MEDIAGEN_DATABASE_LISTEN_URL',
    '',
    'The same database without a transaction pooler between',
    parseDatabaseUrl,
  ),
  databaseConnections: integer(
    'MEDIAGEN_DATABASE_CONNECTIONS',
    10,
    2,
    1000,
    'Connections of a process to PostgreSQL, besides one for notifications',
  ),
  migrates: text(
    'MEDIAGEN_MIGRATE',
    'false',
    'Whether `serve` migrates a PostgreSQL database, as it always does with SQLite: `true` or `false`',
    parseBoolean,
  ),
  filesUrl: text(
    'MEDIAGEN_FILES_URL',
    '',
    'Where outputs and uploads are: `s3://bucket` or `s3://bucket/prefix` in an S3-compatible store; empty for the data directory',
    parseBucketAddress,
  ),
  filesSignedUrls: text(
    'MEDIAGEN_FILES_SIGNED_URLS',
    'false',
    'Whether downloads are redirected to signed URLs of that store: `true` or `false`. Clients must be able to reach it; such a URL cannot be revoked, and works no longer than the URL that led to it',
    parseBoolean,
  ),
  awsEndpoint: text('AWS_ENDPOINT_URL_S3', '', 'Address of the S3-compatible store; empty for AWS', parseUrl),
  awsRegion: text('AWS_REGION', 'us-east-1', 'Region of the bucket'),
  awsAccessKeyId: text('AWS_ACCESS_KEY_ID', '', 'Access key of the store of files'),
  awsSecretAccessKey: text('AWS_SECRET_ACCESS_KEY', '', 'Its secret'),
  awsSessionToken: text('AWS_SESSION_TOKEN', '', 'Its session token, if it is a temporary key'),
  host: text('MEDIAGEN_HOST', '127.0.0.1', 'Address that the HTTP and gRPC ports listen on'),
  httpPort: integer(
    'MEDIAGEN_HTTP_PORT',
    8080,
    0,
    65_535,
    'HTTP port: REST, Connect, gRPC-Web, console; 0 picks a free port',
  ),
  grpcPort: integer('MEDIAGEN_GRPC_PORT', 9090, 0, 65_535, 'gRPC port; 0 picks a free port'),
  adminHost: text('MEDIAGEN_ADMIN_HOST', '127.0.0.1', 'Address that the two admin ports listen on'),
  adminPort: text(
    'MEDIAGEN_ADMIN_PORT',
    '',
    'HTTP port for operators: `/metrics`, health, AdminService over Connect and gRPC-Web; 0 picks a free port; empty for none',
    parsePort,
  ),
  adminGrpcPort: text(
    'MEDIAGEN_ADMIN_GRPC_PORT',
    '',
    'gRPC port for operators: every service, with AdminService and reflection; 0 picks a free port; empty for none',
    parsePort,
  ),
  publicUrl: text(
    'MEDIAGEN_PUBLIC_URL',
    '',
    'Address at which clients reach the HTTP port, without a path; empty for `http://host:port`, or for the host of each request if the server listens on all addresses',
    parseOrigin,
  ),
  coreUrl: text(
    'MEDIAGEN_CORE_URL',
    '',
    'gRPC address of a remote core, such as `http://10.0.0.5:9090`; makes this process a REST gateway (also `--core-url`)',
    parseUrl,
  ),
  adminUrl: text(
    'MEDIAGEN_ADMIN_URL',
    '',
    'Address at which operators reach that HTTP port, for signing in there; empty for `http://` and the host of each request',
    parseOrigin,
  ),
  trustedProxies: text(
    'MEDIAGEN_TRUSTED_PROXIES',
    '',
    'Proxies and gateways whose `X-Forwarded-For` is trusted: addresses, networks such as `10.1.0.0/16`, separated by commas',
    parseProxies,
  ),
  corsOrigins: text(
    'MEDIAGEN_CORS_ORIGINS',
    '',
    'Origins of websites whose scripts may call REST and gRPC-Web, such as `https://app.example`, separated by commas; `*` for all',
    parseOrigins,
  ),
  roles: text(
    'MEDIAGEN_ROLES',
    'api,worker',
    '`api` serves clients, `worker` runs jobs; `worker` alone serves only health and metrics',
    parseRoles,
  ),
  catalog: text(
    'MEDIAGEN_CATALOG',
    '',
    'Additional catalog files or folders, separated by `:`, read after the built-in models',
    (value) =>
      value
        .split(':')
        .filter(Boolean)
        .map((path) => resolve(path)),
  ),
  timeZone: text(
    'MEDIAGEN_TIME_ZONE',
    'UTC',
    'Time zone of the days, weeks and months of [limits](give-a-team-keys.md), such as `Europe/Berlin`; the same for all processes on one database',
    parseTimeZone,
  ),
  openaiImageModel: text(
    'MEDIAGEN_OPENAI_IMAGE_MODEL',
    '',
    'Model, by its id or an [alias](catalog.md#aliases), of requests to [`/v1/images/generations`](openai.md) that name none; empty to refuse those',
    (value) => value || null,
  ),
  openaiEditModel: text(
    'MEDIAGEN_OPENAI_EDIT_MODEL',
    '',
    'The same for [`/v1/images/edits`](openai.md); a model that takes a picture',
    (value) => value || null,
  ),
  openaiSpeechModel: text(
    'MEDIAGEN_OPENAI_SPEECH_MODEL',
    '',
    'The same for [`/v1/audio/speech`](openai.md) and `/v1/audio/voices`',
    (value) => value || null,
  ),
  openaiMaxCredits: text(
    'MEDIAGEN_OPENAI_MAX_CREDITS',
    '',
    "What a request of [OpenAI's interface](openai.md) may cost if nothing else says so, in credits; empty to refuse those",
    parseCredits,
  ),
  openaiCancelOnDisconnect: text(
    'MEDIAGEN_OPENAI_CANCEL_ON_DISCONNECT',
    'false',
    "Whether a client of [OpenAI's interface](openai.md) that hangs up before its answer cancels its jobs: `true` or `false`",
    parseBoolean,
  ),
  labelHeaders: text(
    'MEDIAGEN_LABEL_HEADERS',
    '',
    'Headers that become [labels](contract.md#labels) of a start, such as `X-OpenWebUI-User-Email=user`, separated by commas',
    parseLabelHeaders,
  ),
  creditPrice: text(
    'MEDIAGEN_CREDIT_PRICE',
    '',
    'What a credit costs, such as `0.01 EUR`, to show money beside credits in the [usage](contract.md#usage); empty for credits alone',
    (written) => (written === '' ? null : parseCreditPrice(written)),
  ),
  topUpUrl: text(
    'MEDIAGEN_TOP_UP_URL',
    '',
    'Where accounts buy credits, for the error `insufficient_credits`; `{account}` in it stands for the id of the account',
    (written) => parseUrl(written) && written,
  ),
  quoteTtlSeconds: integer('MEDIAGEN_QUOTE_TTL_SECONDS', 600, 1, 600, 'How long a quote is valid'),
  mediaAllowHosts: text(
    'MEDIAGEN_MEDIA_ALLOW_HOSTS',
    '',
    'Private hosts from which media may be fetched: names, addresses or networks such as `10.1.0.0/16`, separated by commas',
    parseAllowedHosts,
  ),
  allowPorts: text(
    'MEDIAGEN_ALLOW_PORTS',
    '',
    'Ports for webhooks and media besides 80, 443, and those from 1024 that browsers do not block, separated by commas',
    parseAllowedPorts,
  ),
  stopGraceSeconds: integer(
    'MEDIAGEN_STOP_GRACE_SECONDS',
    10,
    0,
    3600,
    'How long jobs, webhooks and calls may continue when the server stops; jobs then return to the queue. Give the server a few seconds more before it is killed',
  ),
  leaseSeconds: integer(
    'MEDIAGEN_LEASE_SECONDS',
    15,
    3,
    3600,
    'How long a worker keeps its jobs after its last heartbeat, before they are queued again',
  ),
  reviewHours: integer(
    'MEDIAGEN_REVIEW_HOURS',
    72,
    1,
    8760,
    'How long a job under review waits for an operator before its credits are released',
  ),
  retainHours: integer('MEDIAGEN_RETAIN_HOURS', 168, 1, 876_000, 'How long uploads and outputs are kept'),
  keepJobsDays: text(
    'MEDIAGEN_KEEP_JOBS_DAYS',
    '',
    'How many days a job stays after its end, with its idempotency key and outputs; empty for ever. The ledger always stays',
    parseDays,
  ),
  assetUrlTtlSeconds: integer(
    'MEDIAGEN_ASSET_URL_TTL_SECONDS',
    86_400,
    60,
    31_536_000,
    'How long the URL of an output works, up to an hour more, but never longer than the file is kept',
  ),
  ffmpegPath: text(
    'FFMPEG_PATH',
    '',
    'Path of an FFmpeg with libx264, libvpx and libopus, for faster films and for checks of outputs in any codec',
    parseProgram,
  ),
  signCertificate: text(
    'MEDIAGEN_SIGN_CERTIFICATE',
    '',
    'Path of the certificate, with its chain, by which outputs are [signed](provenance.md#sign-outputs); empty for unsigned outputs',
    parsePath,
  ),
  signKey: text('MEDIAGEN_SIGN_KEY', '', 'Path of its private key, which no other user may read', parsePath),
  signInput: text(
    'MEDIAGEN_SIGN_INPUT',
    'false',
    'Whether a signature has the input of the job, without its media: `true` or `false`',
    parseBoolean,
  ),
  signFailure: text(
    'MEDIAGEN_SIGN_FAILURE',
    'deliver',
    'What becomes of outputs that [cannot be signed](provenance.md#what-cannot-be-signed): `deliver`, or `review` by an operator',
    parseSignFailure,
  ),
  markOutputs: text(
    'MEDIAGEN_MARK_OUTPUTS',
    'false',
    'Whether pictures get the digital source type of IPTC in XMP, if they come without: `true` or `false`',
    parseBoolean,
  ),
  childUser: text(
    'MEDIAGEN_CHILD_USER',
    'nobody',
    'If the server runs as root, the user of processes that render or decode: a name, `uid` or `uid:gid`; `root` for no change',
    parseUser,
  ),
  programLimits: text(
    'MEDIAGEN_PROGRAM_LIMITS',
    '',
    'Limits of programs (`kind: command`), such as `open_files=1024 network=false user=65534`; [`limits`](catalog.md#kind-command) in the catalog takes precedence',
    parseProgramLimitsText,
  ),
  webhookAllowPrivate: text(
    'MEDIAGEN_WEBHOOK_ALLOW_PRIVATE',
    'false',
    'Whether webhooks may be sent to private addresses (`127.0.0.1`, `10.0.0.0/8`, …): `true` or `false`',
    parseBoolean,
  ),
  logLevel: text(
    'MEDIAGEN_LOG_LEVEL',
    'info',
    'Log level: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`',
    parseLogLevel,
  ),
  ...signInSettings,
} as const

/** Every setting of mediagen. */
export const settings = { ...generalSettings, ...traceSettings, ...limits } as const

/** The role of a process. */
export type Role = 'api' | 'worker'

/** All settings, parsed. Empty addresses are null. */
export type Config = { readonly [Name in keyof typeof settings]: ReturnType<(typeof settings)[Name]['parse']> }

/**
 * Reads the settings from an environment; empty variables count as unset.
 * @throws StartupError that lists every setting that is wrong.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const { config, wrong } = parseSettings(env)
  if (wrong.length > 0) throw new StartupError(`${wrong.map(({ problem }) => problem).join('; ')}.`)
  return config
}

/** A setting that is wrong. */
export interface WrongSetting {
  readonly env: string
  readonly problem: string
}

/** Reads the settings; those that are wrong have their defaults. */
export function parseSettings(env: Readonly<Record<string, string | undefined>>): {
  readonly config: Config
  readonly wrong: readonly WrongSetting[]
} {
  const config: Record<string, unknown> = {}
  const wrong: WrongSetting[] = []
  for (const [name, setting] of Object.entries(settings)) {
    const written = env[setting.env] || setting.fallback
    try {
      config[name] = setting.parse(written)
    } catch (error) {
      const problem = `${setting.env} ${(error as Error).message}, but is "${withoutPassword(written)}"`
      wrong.push({ env: setting.env, problem })
      config[name] = setting.parse(setting.fallback)
    }
  }
  return { config: Object.freeze(config) as Config, wrong }
}

/** What was written, as it may be shown. A password may have any sign, also those that make the address a wrong one. */
function withoutPassword(written: string): string {
  return written.replace(/(?<=:\/\/[^/@:]*:).*(?=@)/s, '…')
}

const prefix = 'MEDIAGEN_'

/** A variable that looks like a setting. */
export interface UnknownSetting {
  readonly env: string
  /** `did you mean …?`; empty if no setting is like it. */
  readonly similar: string
}

/** Variables that look like settings but are unknown, such as misspelt ones. Clients' keys, tests and benchmarks have other names. */
export function findUnknownSettings(env: Readonly<Record<string, string | undefined>>): UnknownSetting[] {
  const known = Object.values(settings).map((setting): string => setting.env)
  // Names are compared without what all of them have.
  const endings = known.map((name) => name.replace(prefix, ''))
  return Object.keys(env)
    .filter((name) => /^MEDIAGEN_(?!KEY$|URL$|(TEST|CRASH|SIM|BENCH)_)/.test(name) && !known.includes(name))
    .map((name) => ({
      env: name,
      similar: suggest(name.replace(prefix, ''), endings).replaceAll(
        /"([^"]+)"/g,
        (_all, ending: string) => known[endings.indexOf(ending)] as string,
      ),
    }))
}

function parseSignFailure(written: string): 'deliver' | 'review' {
  if (written !== 'deliver' && written !== 'review') throw new Error('must be `deliver` or `review`')
  return written
}

function parseRoles(written: string): ReadonlySet<Role> {
  const roles = written.split(',').map((role) => role.trim())
  if (!roles.every((role): role is Role => role === 'api' || role === 'worker'))
    throw new Error('must be `api`, `worker` or `api,worker`')
  return new Set(roles)
}
