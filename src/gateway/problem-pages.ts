// GET /problems/{code}: the page that the `type` of a problem resolves to.
import type { FastifyInstance } from 'fastify'
import { isErrorCode, MediagenError, retryable } from '../core/errors.ts'
import { problemKinds } from './problem-kinds.ts'

/** Adds the routes. */
export function addProblemPages(app: FastifyInstance): void {
  app.get('/problems', (_request, reply) =>
    reply.type('text/html; charset=utf-8').send(toPage('Problems', listProblems())),
  )
  app.get<{ Params: { code: string } }>('/problems/:code', (request, reply) => {
    const { code } = request.params
    if (!isErrorCode(code))
      throw new MediagenError('route_not_found', `There is no problem "${code}". GET /problems lists them.`)
    const kind = problemKinds[code]
    const body = `<h1>${kind.title}</h1><p><code>${code}</code> · HTTP ${kind.http} · ${retryable[code] ? 'can be retried unchanged' : 'must be changed before a retry'}</p><p>${escapeHtml(kind.help)}</p><p><a href="/problems">All problems</a></p>`
    return reply.type('text/html; charset=utf-8').send(toPage(kind.title, body))
  })
}

function listProblems(): string {
  const rows = Object.entries(problemKinds).map(
    ([code, kind]) =>
      `<tr><td>${kind.http}</td><td><a href="/problems/${code}"><code>${code}</code></a></td><td>${kind.title}</td></tr>`,
  )
  return `<h1>Problems</h1><table>${rows.join('')}</table>`
}

function toPage(title: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} · mediagen</title><style>body{font:16px/1.6 system-ui,sans-serif;max-width:42rem;margin:4rem auto;padding:0 1rem;color:#1c1c28;background:#fbfbfd}code{background:#ececf4;padding:.1em .4em;border-radius:.3em}td{padding:.3em 1em .3em 0}a{color:#4338ca}@media(prefers-color-scheme:dark){body{color:#e8e8f0;background:#14141c}code{background:#262633}a{color:#a5b4fc}}</style><body>${body}</body></html>`
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
