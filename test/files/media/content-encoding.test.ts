// A file is compressed only if its Content-Encoding says so.
import { expect, test } from 'vitest'
import { isCompressed } from '../../../src/files/media/content-encoding.ts'

test.each([
  undefined,
  '',
  ' ',
  'identity',
  'Identity',
  ' IDENTITY ',
  'aws-chunked',
  'AWS-Chunked,identity',
  ',',
  ['', 'identity'],
])('P197 %j is not compressed', (header) => expect(isCompressed(header)).toBe(false))

test.each(['gzip', 'GZIP', 'br', 'identity, gzip', 'aws-chunked,gzip', ['identity', 'deflate'], 'unknown'])(
  '%j is compressed',
  (header) => expect(isCompressed(header)).toBe(true),
)
