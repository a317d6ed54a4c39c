// The headers of answers, by status and operation.

const text = { type: 'string' }

/** The headers as components of the document. */
export const headers = {
  'X-Request-Id': {
    description:
      'Id of the request in the log of the server: the one that was sent, if it was well-formed, or a new one.',
    schema: text,
    example: 'req_mwru8vehkdix_h',
  },
  'Retry-After': {
    description: 'Seconds to wait before the next try.',
    schema: { type: 'integer', minimum: 0 },
    example: 1,
  },
  'WWW-Authenticate': {
    description: 'What the request lacks, as in RFC 6750.',
    schema: text,
    example: 'Bearer realm="mediagen"',
  },
  Location: { description: 'Where the record or the file is.', schema: { type: 'string', format: 'uri-reference' } },
  'Idempotent-Replayed': {
    description: '`true` if an earlier start with the same Idempotency-Key is answered with its job; absent otherwise.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Mediagen-Receipt': {
    description: 'What a job that has ended cost, as in its record; a dictionary of RFC 9651.',
    schema: text,
    example: 'held=7, charged=5, released=2, quote_id="quote_AQAAAA", key_id="key_01m81n2zt7e0081c5yz0j3m1gq"',
  },
  Deprecation: {
    description: 'The model ends in at most 60 days: the moment 60 days before its end (RFC 9745).',
    schema: text,
    example: '@1759363200',
  },
  Sunset: {
    description: 'When the model ends, in at most 60 days (RFC 8594); `Link` names its successor, if there is one.',
    schema: text,
    example: 'Mon, 01 Dec 2025 00:00:00 GMT',
  },
  'Mediagen-Job': { description: 'Ids of the jobs, separated by commas.', schema: text },
  'Mediagen-Credits-Charged': {
    description: 'What all jobs cost, in credits; not known when a stream begins.',
    schema: { type: 'integer', minimum: 0 },
  },
  ETag: { description: 'Version of the file.', schema: text },
  'Last-Modified': { description: 'When the file was stored.', schema: text },
  'Content-Range': { description: 'The range of the file, as in RFC 9110.', schema: text, example: 'bytes 0-99/48213' },
  'Content-Disposition': { description: 'What the file is called where it is saved.', schema: text },
} as const

type Name = keyof typeof headers

const byStatus: Readonly<Record<string, readonly Name[]>> = {
  201: ['Location'],
  202: ['Location', 'Retry-After'],
  307: ['Location'],
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}
const file: readonly Name[] = ['ETag', 'Last-Modified', 'Content-Disposition']
const download: Readonly<Record<string, readonly Name[]>> = {
  200: file,
  206: [...file, 'Content-Range'],
  304: file,
  416: ['Content-Range'],
}
const end: readonly Name[] = ['Deprecation', 'Sunset']
const start: Readonly<Record<string, readonly Name[]>> = {
  200: ['Idempotent-Replayed', 'Mediagen-Receipt', ...end],
  202: ['Idempotent-Replayed', ...end],
}
const made: readonly Name[] = ['Mediagen-Job', 'Mediagen-Credits-Charged', 'Mediagen-Receipt', ...end]
const door: Readonly<Record<string, readonly Name[]>> = { 200: made, 502: made, 504: made }
const byOperation: Readonly<Record<string, typeof download>> = {
  createQuote: { 200: end },
  startGeneration: start,
  run: start,
  getJob: { 200: ['Mediagen-Receipt'] },
  cancelJob: { 200: ['Mediagen-Receipt'] },
  createImage: door,
  editImage: door,
  createSpeech: door,
  getAsset: download,
  getSample: download,
}

/** The headers of an answer, as references to components. */
export function headersOf(operationId: string, status: string): object {
  const names = ['X-Request-Id', ...(byStatus[status] ?? []), ...(byOperation[operationId]?.[status] ?? [])]
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
