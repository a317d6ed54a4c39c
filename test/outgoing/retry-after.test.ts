// How long an answer asks to wait.
import { expect, test } from 'vitest'
import { readRetryAfter } from '../../src/outgoing/retry-after.ts'

const date = 'Fri, 27 Nov 2026 10:00:00 GMT'

test.each([
  [{ 'retry-after': '120' }, 120_000],
  [{ 'retry-after': ' 0 ' }, 0],
  [{ 'retry-after': 'Fri, 27 Nov 2026 10:01:30 GMT', date }, 90_000],
  [{ 'retry-after': 'Friday, 27-Nov-26 10:00:05 GMT', date }, 5000],
  [{ 'retry-after': 'Fri, 27 Nov 2026 09:00:00 GMT', date }, 0],
  [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0],
  [{}, null],
  [{ 'retry-after': '' }, null],
  [{ 'retry-after': '-5' }, null],
  [{ 'retry-after': '1.5' }, null],
  [{ 'retry-after': '1e9' }, null],
  [{ 'retry-after': 'soon' }, null],
  [{ 'retry-after': 'Fri, no day at all' }, null],
])('%j asks to wait %j ms', (headers, waitMs) => expect(readRetryAfter(headers)).toBe(waitMs))
