// Places, keys in addresses, and jobs in words.
import { Refused } from '@mediagen/client/errors.ts'
import { describeProvenance } from '@mediagen/client/provenance-words.ts'
import { isOlder } from '@mediagen/client/records.ts'
import { expect, test } from 'vitest'
import { retryable } from '../../src/core/errors.ts'
import { describeType } from '../../web/docs/words.ts'
import {
  describeKept,
  describeMoney,
  describeOutput,
  describeStatus,
  explainEnd,
  formatAge,
  formatBytes,
  isConstantPrice,
  toFileName,
  toLocalUrl,
} from '../../web/job-words.ts'
import { chooseFiles, isReference } from '../../web/media-file.ts'
import type { JobRecord, OutputRecord } from '../../web/records.ts'
import { explain } from '../../web/refusal-words.ts'
import { parseRoute, takeKey, toHash } from '../../web/route.ts'
import { findSimilar } from '../../web/similar-models.ts'
import { describeViolation } from '../../web/violation-words.ts'

test('every place survives its address; nonsense is no page', () => {
  for (const route of [
    { view: 'models' },
    { view: 'library' },
    { view: 'uploads' },
    { view: 'webhooks' },
    { view: 'model', id: 'builtin/image/art/text-to-image' },
    { view: 'model', id: 'a/b c%?#' },
    { view: 'job', id: 'job_01' },
    { view: 'remix', id: 'job_01' },
  ] as const) {
    expect(parseRoute(toHash(route))).toEqual(route)
  }
  expect(toHash({ view: 'model', id: 'a/b' })).toBe('#/model/a/b')
  expect(parseRoute('#/models/a/b')).toEqual({ view: 'model', id: 'a/b' })
  expect(['#/jobs/job_01', '#/jobs'].map(parseRoute)).toEqual([{ view: 'job', id: 'job_01' }, { view: 'library' }])
  for (const hash of ['', '#', '#/', '#/model/', '#/models', '#/models/', '#main'])
    expect(parseRoute(hash)).toEqual({ view: 'models' })
  for (const hash of ['#/nope', '#/job/', '#/nope/library']) expect(parseRoute(hash)).toEqual({ view: 'nowhere' })
  expect(parseRoute('#/model/%E0%A4%A')).toEqual({ view: 'model', id: '%E0%A4%A' })
})

test.each([
  ['poster', ['builtin/image/poster/text-to-image']],
  ['Postr', ['builtin/image/poster/text-to-image']],
  ['generative-art', ['builtin/image/art/text-to-image']],
  ['zzz', []],
  ['', []],
])('models like “%s” are offered in its place', (written, expected) => {
  const models = [
    { id: 'builtin/image/art/text-to-image', name: 'Generative Art' },
    { id: 'builtin/image/poster/text-to-image', name: 'Poster' },
  ]
  expect(findSimilar(written, models).map(({ id }) => id)).toEqual(expected)
})

test('a key is taken out of the address, the place stays', () => {
  expect(takeKey('#key=mgk_abc')).toEqual({ key: 'mgk_abc', rest: '' })
  expect(takeKey('#key=mgk_abc&/job/job_1')).toEqual({ key: 'mgk_abc', rest: '#/job/job_1' })
  expect(takeKey('#/library&key=mgk_abc')).toEqual({ key: 'mgk_abc', rest: '' })
  expect(takeKey('#/library')).toBeNull()
  expect(takeKey('')).toBeNull()
})

test('of two records of a job, which one was read before the other', () => {
  const life = [
    { status: 'queued', attempts: 0, progress: 0 },
    { status: 'running', attempts: 1, progress: 0 },
    { status: 'running', attempts: 1, progress: 0.5 },
    // Its worker was lost.
    { status: 'queued', attempts: 1, progress: 0 },
    { status: 'running', attempts: 2, progress: 0.2 },
    { status: 'needs_review', attempts: 2, progress: 0.2 },
    { status: 'failed', attempts: 2, progress: 0.2 },
  ] as JobRecord[]
  for (const [earlier, job] of life.entries())
    for (const [later, than] of life.entries())
      expect([job, than, isOlder(job, than)]).toEqual([job, than, earlier < later])
})

test('where the credits are', () => {
  const say = (status: JobRecord['status'], held: number, charged: number, released: number): string =>
    describeMoney({ status, billing: { quoted: held, held, charged, released } })
  expect(say('running', 10, 0, 0)).toBe('10 credits held')
  expect(say('succeeded', 1, 1, 0)).toBe('1 credit charged')
  expect(say('succeeded', 40, 6, 34)).toBe('6 credits charged, 34 returned')
  expect(say('failed', 7, 0, 7)).toBe('Nothing charged, 7 credits returned')
  expect(say('needs_review', 7, 0, 0)).toBe('7 credits held until an operator decides')
  expect(say('succeeded', 0, 0, 0)).toBe('Nothing charged')
})

test('a price that is the same for every input is told from one that only begins there', () => {
  expect(isConstantPrice({ billing: 'fixed', summary: '1 credit', from_credits: 1 })).toBe(true)
  expect(isConstantPrice({ billing: 'fixed', summary: '1500 credits', from_credits: 1500 })).toBe(true)
  expect(isConstantPrice({ billing: 'fixed', summary: 'ceil(duration / 15) credits', from_credits: 1 })).toBe(false)
  expect(isConstantPrice({ billing: 'fixed', summary: '1 credit for each 15 seconds', from_credits: 1 })).toBe(false)
  expect(isConstantPrice({ billing: 'usage', summary: '1 credit', from_credits: 1 })).toBe(false)
})

test('state, reason, age and size', () => {
  expect(describeStatus({ status: 'running', progress: 0.5, queue_position: null })).toBe('Working, 50%')
  expect(describeStatus({ status: 'running', progress: 0, queue_position: null })).toBe('Working')
  for (const [queue_position, words] of [
    [1, 'Queued, next in line'],
    [7, 'Queued, place 7'],
    [100, 'Queued, place 100 or later'],
  ] as const)
    expect(describeStatus({ status: 'queued', progress: 0, queue_position })).toBe(words)
  expect(explainEnd({ status: 'failed', error: { code: 'x', message: 'the paint ran out', retryable: false } })).toBe(
    'the paint ran out',
  )
  expect(explainEnd({ status: 'succeeded', error: null })).toBeNull()
  const unsigned = { code: 'output_unsigned', message: 'It was not signed: no.', retryable: false }
  expect(explainEnd({ status: 'needs_review', error: unsigned })).toBe('It was not signed: no.')
  const now = Date.parse('2026-11-20T10:00:00Z')
  expect(
    ['2026-11-20T09:59:50Z', '2026-11-20T09:55:00Z', '2026-11-20T07:00:00Z', '2026-11-01T10:00:00Z'].map((time) =>
      formatAge(time, now),
    ),
  ).toEqual(['just now', '5 min ago', '3 h ago', '1 Nov 2026'])
  expect([96, 9_600, 96_000, 9_600_000].map(formatBytes)).toEqual(['96 bytes', '9.6 kB', '96 kB', '9.6 MB'])
})

test('a file has its facts and a name of its own', () => {
  const output = (content_type: string): OutputRecord => ({
    url: '',
    content_type,
    bytes: 48_213,
    width: 1024,
    height: 768,
    duration_seconds: null,
    preview_url: null,
    blurhash: null,
    kept_until: null,
    expires_at: null,
    expired: false,
    sha256: '',
    provenance: null,
  })
  expect(describeOutput(output('image/png'))).toBe('PNG · 1024 × 768 · 48 kB')
  expect(describeKept({ url: 'x', kept_until: '2026-11-28T10:00:00.000Z' })).toMatch(/^kept until 28 Nov, \d\d:00$/)
  expect(describeKept({ url: null, kept_until: '2026-11-28T10:00:00.000Z' })).toMatch(/^was kept until 28 Nov/)
  expect(describeKept({ url: 'x', kept_until: null })).toBe('')
  const job = { job_id: 'job_01m7xxwv6ne0092mdaca5q58ay', model: 'builtin/image/poster/text-to-image' }
  expect(toFileName(job, output('image/jpeg'), 0)).toBe('poster-ca5q58ay.jpg')
  expect(toFileName(job, output('image/svg+xml'), 1)).toBe('poster-ca5q58ay-2.svg')
})

test('a file is asked from the own origin where both are this machine, and nowhere else', () => {
  const signed = 'http://127.0.0.1:8080/assets/a.png?signature=x'
  expect(toLocalUrl(signed, 'http://localhost:8080')).toBe('http://localhost:8080/assets/a.png?signature=x')
  expect(toLocalUrl(signed, 'http://localhost:9999')).toBe(signed)
  expect(toLocalUrl('https://bucket.example/a.png', 'http://localhost:8080')).toBe('https://bucket.example/a.png')
})

test('violations of the server are shown in everyday language', () => {
  for (const [detail, words] of [
    ['must be at most 2048', 'At most 2,048.'],
    ['must be a multiple of 2', 'Must be a multiple of 2.'],
    ['must have at least 2 items', 'At least 2 are required.'],
    ['must have at least 1 item', 'At least 1 is required.'],
    ['must not be empty', 'This field is required.'],
    ['must have at most 2000 characters', 'At most 2,000 characters.'],
    ['must be a whole number', 'Must be a whole number.'],
    ['must be one of "a", "b"', 'Choose one of a, b.'],
    ['must match pattern "^#[0-9a-f]{6}$"', 'This is not in the right format.'],
    ['must match a schema in anyOf', 'This combination is not possible.'],
    ['is required', 'This field is required.'],
    ['is not a known field', 'This model does not have this field.'],
    ['is not a known field (did you mean "width"?)', 'This model does not have this field (did you mean "width"?).'],
    ['names a style that is no longer there', 'Names a style that is no longer there.'],
  ] as const)
    expect(describeViolation(detail)).toBe(words)
})

test('refusals are explained without routes, ids and codes', () => {
  const refuse = (code: string, more: object = {}, waitSeconds: number | null = null): string => {
    const problem = { type: '', title: 'T', status: 400, detail: 'GET /v1/x "id"', retryable: false, request_id: '' }
    return explain(new Refused({ ...problem, code, ...more }, waitSeconds)).detail
  }
  expect(refuse('insufficient_credits', { required: 5, available: 1 })).toBe(
    'This needs 5 credits, and 1 is available. Running generations may return some when they end, and whoever runs this server can give you more.',
  )
  const budget = {
    of: 'key',
    limit: 'daily',
    credits: 50,
    held: 9,
    charged: 40,
    left: 1,
    starts_at: null,
    renews_at: null,
  }
  expect(refuse('budget_exceeded', { required: 5, budget })).toBe(
    'This needs 5 credits, and 1 credit of 50 is left today. Whoever gave you the key can raise it.',
  )
  expect(refuse('rate_limited', {}, 7)).toBe('Too many requests were sent in a short time. Try again in 7 s.')
  expect(refuse('missing_permission', { permission: 'generate' })).toContain('“generate”')
  const asTheServerSays = Object.keys(retryable).filter((code) => refuse(code).includes('/v1/'))
  for (const code of ['model_not_found', 'job_not_found', 'file_not_found', 'quote_expired', 'overloaded', 'internal'])
    expect(asTheServerSays).not.toContain(code)
})

test('what names a file, and what does not', () => {
  for (const text of ['https://a.example/b.png', 'HTTP://x', 'data:image/png;base64,AA==', 'file_01m7'])
    expect([text, isReference(text)]).toEqual([text, true])
  for (const text of [
    '',
    'photo.png',
    'www.example.com/a.png',
    'https://',
    'file_',
    'ftp://a/b',
    'https://a b',
    'data:',
  ])
    expect([text, isReference(text)]).toEqual([text, false])
})

test('of many files those that fit are accepted, and the others get a reason', () => {
  const file = (name: string, type: string, bytes: number) => new File([new Uint8Array(bytes)], name, { type })
  const choose = (files: File[], most: number) => {
    const { taken, words } = chooseFiles(files, { accept: 'image/*' }, 1000, { most, used: 0 })
    return [taken.map(({ name }) => name), words]
  }
  const [a, b, c] = [file('a.png', 'image/png', 10), file('b.heic', '', 10), file('c.webp', 'image/webp', 1000)]
  expect(choose([a, b, c], 3)).toEqual([['a.png', 'b.heic', 'c.webp'], null])
  expect(choose([a, b, c], 1)).toEqual([['a.png'], 'There is room for one file; 2 were left out.'])
  expect(choose([file('d.mp4', 'video/mp4', 10), file('e.png', 'image/png', 1001)], 1)).toEqual([
    [],
    '“d.mp4” is not a picture. “e.png” is larger than 1.0 kB, the limit of this server.',
  ])
})

type Said = NonNullable<OutputRecord['provenance']>

test('P383: what a file says of its origin is said in plain words', () => {
  const nothing: Said = {
    signed: false,
    verified: null,
    issuer: null,
    generator: null,
    actions: [],
    source_type: null,
    problem: null,
  }
  const say = (said: Partial<Said>): string => describeProvenance({ ...nothing, ...said }).join(' ')
  expect([describeProvenance(null), say({})]).toEqual([[], ''])
  const signed = { signed: true, issuer: 'Acme Studio', generator: 'Painter', source_type: 'trainedAlgorithmicMedia' }
  expect(say({ ...signed, verified: true })).toBe('Signed by Acme Studio, checked. Says it was made by AI.')
  expect(say({ signed: true })).toBe('Signed without a name, not checked.')
  expect(say({ signed: true, verified: false, problem: 'The manifest cannot be read: no' })).toBe(
    'Broken manifest. The manifest cannot be read: no.',
  )
  expect(say({ ...signed, verified: false })).toContain('Broken manifest, which says it is by Acme Studio.')
  expect(say({ problem: 'It was not signed: files of type image/tiff cannot be' })).toBe(
    'It was not signed: files of type image/tiff cannot be.',
  )
  expect(say({ generator: 'Painter 2', source_type: 'https://example.com/x' })).toBe(
    'Says its source is https://example.com/x. Says it was made with Painter 2.',
  )
})

test.each([
  [{ enum: ['1:1', '3:2'] }, 'string'],
  [{ enum: [1, 'auto', null] }, 'number or string or null'],
  [{ type: 'integer', enum: [1, 2] }, 'integer'],
  [{}, 'any'],
])('the type of %j is %s', (schema, expected) => {
  expect(describeType(schema, {})).toBe(expected)
})
