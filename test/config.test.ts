// The settings: one table in the code, and every wrong value refused by name. test/docs.test.ts holds docs/settings.md against it.
import { describe, expect, test } from 'vitest'
import { findUnknownSettings, readConfig, settings } from '../src/config.ts'
import { StartupError } from '../src/core/errors.ts'

const all = Object.values(settings)

test('no setting is read anywhere else, and none is read under two names', () => {
  const names = all.map(({ env }) => env)
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^(MEDIAGEN_[A-Z_]+|FFMPEG_PATH|AWS_[A-Z0-9_]+|OTEL_[A-Z_]+)$/)
})

test('without any environment the settings are the defaults', () => {
  expect(readConfig({})).toMatchObject({
    host: '127.0.0.1',
    httpPort: 8080,
    grpcPort: 9090,
    publicUrl: null,
    coreUrl: null,
    roles: new Set(['api', 'worker']),
    catalog: [],
    quoteTtlSeconds: 600,
    waitSeconds: 180,
    maxQueuedJobs: 1000,
    rateLimit: 50,
    maxBodyBytes: 1_048_576,
  })
})

test('an empty variable counts as unset, an unknown one is passed over', () => {
  expect(readConfig({ MEDIAGEN_HTTP_PORT: '', HOME: '/root' })).toEqual(readConfig({}))
})

test('what looks like a setting and is none is named', () => {
  const known = Object.fromEntries(all.map(({ env }) => [env, 'x']))
  const others = { MEDIAGEN_KEY: 'mgk_x', MEDIAGEN_TEST_GATEWAY: '1', MEDIAGEN_TEST_SEED: '1', HOME: '/root' }
  expect(findUnknownSettings({ ...known, ...others })).toEqual([])
  expect(findUnknownSettings({ MEDIAGEN_PORT: '1', MEDIAGEN_WORKERS: '2' })).toEqual([
    {
      env: 'MEDIAGEN_PORT',
      similar: expect.stringMatching(/^did you mean .*MEDIAGEN_HTTP_PORT.*\?$/),
    },
    { env: 'MEDIAGEN_WORKERS', similar: '' },
  ])
  expect(findUnknownSettings({ MEDIAGEN_DATABSE_URL: '1' })).toMatchObject([
    { similar: 'did you mean MEDIAGEN_DATABASE_URL?' },
  ])
})

test.each([
  'mysql://ada:geheim@db/x',
  'postgres://ada:ge/geheim@db/x',
  'postgres://ada:geheim:geheim@geheim@db:99999/x',
])('the password in %s is not shown', (written) => {
  expect(() => readConfig({ MEDIAGEN_DATABASE_URL: written })).toThrow(/^MEDIAGEN_DATABASE_URL must .*ada:…@db/)
  expect(() => readConfig({ MEDIAGEN_DATABASE_URL: written })).not.toThrow(/geheim/)
})

test('the settings cannot be changed afterwards', () => {
  expect(Object.isFrozen(readConfig({}))).toBe(true)
})

describe('a wrong value is refused by name, with what it may be', () => {
  test.each([
    ['MEDIAGEN_QUOTE_TTL_SECONDS', '601'],
    ['MEDIAGEN_QUOTE_TTL_SECONDS', '0'],
    ['MEDIAGEN_KEEP_JOBS_DAYS', '0'],
    ['MEDIAGEN_KEEP_JOBS_DAYS', '0.5'],
    ['MEDIAGEN_HTTP_PORT', '65536'],
    ['MEDIAGEN_HTTP_PORT', '-1'],
    ['MEDIAGEN_GRPC_PORT', 'http'],
    ['MEDIAGEN_WAIT_SECONDS', '1.5'],
    ['MEDIAGEN_RATE_LIMIT', '1e3'],
    ['MEDIAGEN_MAX_BODY_BYTES', '1 MiB'],
    ['MEDIAGEN_PUBLIC_URL', 'media.example'],
    ['MEDIAGEN_PUBLIC_URL', 'https://media.example/base'],
    ['MEDIAGEN_PUBLIC_URL', 'https://media.example/base/'],
    ['MEDIAGEN_PUBLIC_URL', 'https://media.example/#x'],
    ['MEDIAGEN_PUBLIC_URL', 'https://user@media.example'],
    ['MEDIAGEN_CORE_URL', 'ftp://core'],
    ['MEDIAGEN_CORS_ORIGINS', 'https://app.example/path'],
    ['MEDIAGEN_CORS_ORIGINS', 'app.example'],
    ['MEDIAGEN_ROLES', 'api,boss'],
    ['MEDIAGEN_LOG_LEVEL', 'loud'],
    ['MEDIAGEN_TIME_ZONE', 'Mars/Olympus'],
    ['MEDIAGEN_TIME_ZONE', '01:00'],
  ])('%s=%s', (env, value) => {
    expect(() => readConfig({ [env]: value })).toThrow(StartupError)
    expect(() => readConfig({ [env]: value })).toThrow(new RegExp(`^${env} must be .*, but is "${value}"\\.$`))
  })

  test('all of them at once', () => {
    expect(() => readConfig({ MEDIAGEN_HTTP_PORT: 'x', MEDIAGEN_ROLES: 'y' })).toThrow(
      /MEDIAGEN_HTTP_PORT .*; MEDIAGEN_ROLES /s,
    )
  })
})

test('addresses lose the slash at their end', () => {
  expect(readConfig({ MEDIAGEN_PUBLIC_URL: 'https://media.example//' }).publicUrl).toBe('https://media.example')
  expect(readConfig({ MEDIAGEN_PUBLIC_URL: 'http://[::1]:8080' }).publicUrl).toBe('http://[::1]:8080')
})

test('catalog files are separated by colons', () => {
  expect(readConfig({ MEDIAGEN_CATALOG: '/a.yaml:/b::' }).catalog).toEqual(['/a.yaml', '/b'])
})
