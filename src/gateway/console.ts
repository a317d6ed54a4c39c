// The browser console at `/`: the files of web/, TypeScript stripped of its types at the first request.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { extname, join } from 'node:path'
import type { FastifyInstance } from 'fastify'

const folder = join(import.meta.dirname, '../../web')
const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ts': 'text/javascript; charset=utf-8',
}

// Scripts, styles and requests of this server only; media may lie elsewhere, such as in a bucket.
const contentSecurityPolicy = [
  "default-src 'self'",
  "img-src 'self' data: blob: https: http:",
  "media-src 'self' data: blob: https: http:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Adds a route for each file; `index.html` is `/`. `maxUploadBytes` is the largest file that `POST /v1/files` takes. */
export function addConsole(app: FastifyInstance, maxUploadBytes: number): void {
  const files = readdirSync(folder).filter((file) => contentTypes[extname(file)])
  // The page names all modules, so the browser fetches them at once, not one after the other as they import each other.
  const preload = files.filter((file) => file.endsWith('.ts')).map((file) => `</console/${file}>; rel=modulepreload`)
  for (const file of files) {
    // All are read now, so that they are of the same version; types are stripped later, because a start need not wait for that.
    const content = readFileSync(join(folder, file), 'utf8')
    const page = file === 'index.html'
    let rendered: ReturnType<typeof render> | undefined
    app.get(page ? '/' : `/console/${file}`, (request, reply) => {
      const { body, headers } = (rendered ??= render(file, content, page ? preload.join(', ') : null))
      reply.headers(headers)
      return request.headers['if-none-match'] === headers.etag ? reply.code(304).send() : reply.send(body)
    })
  }
  // The page refuses a file that is too large when it is chosen, not after it was sent.
  app.get('/console/limits.json', (_request, reply) =>
    reply.header('cache-control', 'no-cache').send({ max_upload_bytes: maxUploadBytes }),
  )
}

function render(file: string, content: string, link: string | null) {
  const body = Buffer.from(file.endsWith('.ts') ? stripTypeScriptTypes(content) : content)
  const headers = {
    'content-type': contentTypes[extname(file)],
    'cache-control': 'no-cache',
    etag: `"${createHash('sha256').update(body).digest('base64url')}"`,
    'content-security-policy': contentSecurityPolicy,
    ...(link !== null && { link }),
  }
  return { body, headers }
}
