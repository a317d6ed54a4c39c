// What clients send is cut in the log, and keys are left out of it, whatever field they stand in.
import { expect, test } from 'vitest'
import { createLogger } from '../src/app/observe/log.ts'

const key = `mgk_${'0Az'.repeat(14)}9`

function log(line: object, message = 'x'): string {
  const lines: string[] = []
  createLogger('info', { write: (text: string) => void lines.push(text) }).info(line, message)
  return lines.join('')
}

test('texts of clients are cut at 256 characters, and say how much is missing', () => {
  const { path, detail, account_id } = JSON.parse(
    log({ path: 'p'.repeat(15_000), detail: 'd'.repeat(257), account_id: 'a'.repeat(300) }),
  )
  expect(path).toBe(`${'p'.repeat(256)}… (14744 more characters)`)
  expect(detail).toBe(`${'d'.repeat(256)}… (1 more characters)`)
  expect(account_id).toHaveLength(300)
})

test('no line holds a key, in whatever field, nested, in a message, in an error or percent-encoded', () => {
  const text = log(
    {
      path: `/v1/${key}`,
      request_id: key,
      nested: { deep: [key] },
      err: new Error(`no ${key}`),
      url: `/mgk%5f${key.slice(4)}`,
    },
    `told ${key}`,
  )
  expect(text).not.toContain(key.slice(4))
  expect(JSON.parse(text)).toMatchObject({ path: '/v1/mgk_[redacted]', request_id: 'mgk_[redacted]' })
})

test('no line holds the token of an address that a provider was given', () => {
  const { path } = JSON.parse(log({ path: '/submissions/fal/job_01abc/1/aG-_9' }))
  expect(path).toBe('/submissions/fal/job_01abc/1/[redacted]')
})

test('a key that is cut in two is left out as well', () => {
  const { path } = JSON.parse(log({ path: `${'p'.repeat(240)}${key}` }))
  expect(path).not.toContain('mgk_0')
})

test('the id of a key is not a secret', () => {
  expect(JSON.parse(log({ key_id: 'key_01abc' }))).toMatchObject({ key_id: 'key_01abc' })
})
