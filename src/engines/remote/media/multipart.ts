// Bodies of type multipart/form-data (RFC 7578).
import { randomBytes } from 'node:crypto'
import type { FormPart } from '../backend.ts'

/** Writes a body. Names and file names are ours or a schema's, so they need no more than their quotes escaped. */
export function toMultipart(parts: readonly FormPart[]): { body: Buffer; headers: Record<string, string> } {
  const boundary = `mediagen-${randomBytes(16).toString('hex')}`
  const chunks = parts.flatMap((part) => {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escape(part.name)}"`
    return 'value' in part
      ? [Buffer.from(`${head}\r\n\r\n${part.value}\r\n`)]
      : [
          Buffer.from(`${head}; filename="${escape(part.fileName)}"\r\nContent-Type: ${part.contentType}\r\n\r\n`),
          part.file,
          Buffer.from('\r\n'),
        ]
  })
  return {
    body: Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  }
}

/** A JSON body. */
export function toJsonBody(value: unknown): { body: string; headers: Record<string, string> } {
  return { body: JSON.stringify(value), headers: { 'content-type': 'application/json' } }
}

function escape(name: string): string {
  return name.replaceAll('"', '%22').replaceAll(/[\r\n]+/g, ' ')
}
