// Reads a multipart body, as a server would.
import type { FakeRequest } from './fake.ts'

/** The fields of a multipart request; files are `file:TYPE:BYTES`. A repeated name makes a list. */
export function readMultipart({
  headers,
  body,
}: Pick<FakeRequest, 'headers' | 'body'>): Record<string, string | string[]> {
  const boundary = /boundary=(.+)$/.exec(headers['content-type'] ?? '')?.[1] ?? '?'
  const fields: Record<string, string | string[]> = {}
  for (const part of body.toString('latin1').split(`--${boundary}`).slice(1, -1)) {
    const [head = '', ...rest] = part.slice(2, -2).split('\r\n\r\n')
    const content = rest.join('\r\n\r\n')
    const name = / name="([^"]*)"/.exec(head)?.[1] ?? ''
    const type = /^content-type: (.+)$/im.exec(head)?.[1]
    const isFile = head.includes('filename="')
    const value = isFile ? `file:${type}:${content.length}` : Buffer.from(content, 'latin1').toString('utf8')
    const known = fields[name]
    fields[name] = known === undefined ? value : [known, value].flat()
  }
  return fields
}
