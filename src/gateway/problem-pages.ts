// GET /problems/{code}: the page that the `type` of a problem resolves to.
import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type ErrorCode, MediagenError, retryable } from '@mediagen/core/errors.ts'
import { cutText } from '@mediagen/core/log-text.ts'
import { problemKinds } from './problem-kinds.ts'

const style =
  'body{font:16px/1.6 system-ui,sans-serif;max-width:42rem;margin:4rem auto;padding:0 1rem;color:#1c1c28;background:#fbfbfd}code{background:#ececf4;padding:.1em .4em;border-radius:.3em}td{padding:.3em 1em .3em 0}a{color:#4338ca}@media(prefers-color-scheme:dark){body{color:#e8e8f0;background:#14141c}code{background:#262633}a{color:#a5b4fc}}'
// The pages load nothing; only this style is theirs.
const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const answers = { 200: { description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } } }
const listOperation = { id: 'listProblems', summary: 'A page that lists every problem.', answers }
const pageOperation = {
  id: 'getProblem',
  summary: 'The page that explains a problem. The `type` of a problem is its address.',
  path: { code: 'Code of the problem.' },
  answers,
  errors: ['route_not_found'],
} as const

/** Adds the routes. */
export function addProblemPages(app: FastifyInstance): void {
  const list = toPage('Problems', listProblems())
  const pages = new Map(Object.keys(problemKinds).map((code) => [code, toProblemPage(code as ErrorCode)]))

  app.get('/problems', { schema: { operation: listOperation } }, (_request, reply) => sendPage(reply, list))
  app.get<{ Params: { code: string } }>(
    '/problems/:code',
    { schema: { operation: pageOperation } },
    (request, reply) => {
      const page = pages.get(request.params.code)
      if (!page)
        throw new MediagenError(
          'route_not_found',
          `There is no problem "${cutText(request.params.code)}". GET /problems lists them.`,
        )
      return sendPage(reply, page)
    },
  )
}

function sendPage(reply: FastifyReply, page: Buffer): FastifyReply {
  return reply.type('text/html; charset=utf-8').header('content-security-policy', contentSecurityPolicy).send(page)
}

function toProblemPage(code: ErrorCode): Buffer {
  const kind = problemKinds[code]
  return toPage(
    kind.title,
    `<h1>${kind.title}</h1><p><code>${code}</code> · HTTP ${kind.http} · ${retryable[code] ? 'can be retried unchanged' : 'must be changed before a retry'}</p><p>${escapeHtml(kind.help)}</p><p><a href="/problems">All problems</a></p>`,
  )
}

function listProblems(): string {
  const rows = Object.entries(problemKinds).map(
    ([code, kind]) =>
      `<tr><td>${kind.http}</td><td><a href="/problems/${code}"><code>${code}</code></a></td><td>${kind.title}</td></tr>`,
  )
  return `<h1>Problems</h1><table>${rows.join('')}</table>`
}

function toPage(title: string, body: string): Buffer {
  return Buffer.from(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} · mediagen</title><style>${style}</style><body>${body}</body></html>`,
  )
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
