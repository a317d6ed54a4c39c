// GET /problems/{code}: the page that the `type` of a problem resolves to; and the pages of refusals that people see themselves.
import { findOrMake } from '@mediagen/engine/first-use.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, MediagenError, retryable } from '../../core/errors.ts'
import { cutText } from '../../core/text/log-text.ts'
import { sendFile, site } from '../console.ts'
import type { ServedFile } from '../pages/served-file.ts'
import { escapeHtml } from '../pages/site.ts'
import { problemKinds } from './problem-kinds.ts'

const answers = { 200: { description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } } }
const listOperation = { id: 'listProblems', summary: 'List every problem. The answer is a page for people.', answers }
const pageOperation = {
  id: 'getProblem',
  summary: 'Explain a problem. The answer is a page for people; the `type` of a problem is its address.',
  path: { code: 'Code of the problem.' },
  answers,
  errors: ['route_not_found'],
} as const

/** Adds the routes. */
export function addProblemPages(app: FastifyInstance): void {
  const made = new Map<string, Promise<ServedFile>>()
  app.get('/problems', { schema: { operation: listOperation } }, async (request, reply) =>
    sendFile(request, reply, await findOrMake(made, '', listProblems)),
  )
  app.get<{ Params: { code: string } }>(
    '/problems/:code',
    { schema: { operation: pageOperation } },
    async (request, reply) => {
      const { code } = request.params
      if (!Object.hasOwn(problemKinds, code))
        throw new MediagenError('route_not_found', `There is no problem "${cutText(code)}". GET /problems lists them.`)
      return sendFile(request, reply, await findOrMake(made, code, () => describeProblem(code as ErrorCode)))
    },
  )
}

/**
 * Answers a person whose sign-in was refused: why, and the ways back.
 * @param backTo path of the console that they came from
 */
export function sendProblemPage(
  request: FastifyRequest,
  reply: FastifyReply,
  error: MediagenError,
  backTo: string,
): Promise<FastifyReply> {
  const again = backTo === '/' ? '/sign-in' : `/sign-in?to=${encodeURIComponent(backTo)}`
  const ways = `<a href="${again}">Sign in again</a> · <a href="${backTo}">Back to the console</a>`
  return sendPage(request, reply, error, problemKinds[error.code].title, ways)
}

/** Whether a person asks, with a browser, for a page that there is not. */
export function asksForPage({ method, url, headers }: FastifyRequest): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  return isRead && !/^\/(?:v1|console|admin)\//.test(url) && /\btext\/html\b/.test(headers.accept ?? '')
}

/** Answers a person who followed a wrong link: that there is nothing, and where to go on. */
export function sendMissingPage(
  request: FastifyRequest,
  reply: FastifyReply,
  error: MediagenError,
): Promise<FastifyReply> {
  const ways = '<a href="/#/">See the models</a> · <a href="/docs">API reference</a>'
  // A program gets the problem at the same address.
  return sendPage(request, reply.header('vary', 'accept'), error, 'There is no such page', ways)
}

async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { code, message, details }: MediagenError,
  title: string,
  ways: string,
): Promise<FastifyReply> {
  const { http } = problemKinds[code]
  const page = await toPage(
    title,
    `<h1>${title}</h1><p>${escapeHtml(message)}</p><p>${ways}</p><p><code>${request.id}</code></p>`,
  )
  const { headers, body } = await page.answer({})
  if (details.retryAfterSeconds !== undefined) reply.header('retry-after', String(details.retryAfterSeconds))
  const { etag: _, ...others } = headers
  return reply
    .code(http)
    .headers({ ...others, 'cache-control': 'no-store' })
    .send(body)
}

function describeProblem(code: ErrorCode): Promise<ServedFile> {
  const { title, http, help } = problemKinds[code]
  const advice = retryable[code]
    ? 'the request can be sent again unchanged'
    : 'the request must be changed before it is sent again'
  return toPage(
    title,
    `<a class="back" href="/problems"><svg class="icon" aria-hidden="true"><use href="#icon-back"></use></svg>All problems</a><h1>${title}</h1><p><code>${code}</code> · HTTP ${http} · ${advice}</p><p>${escapeHtml(help)}</p>`,
  )
}

function listProblems(): Promise<ServedFile> {
  const rows = Object.entries(problemKinds).map(
    ([code, { http, title }]) =>
      `<tr><td>${http}</td><td><a href="/problems/${code}">${title}</a></td><td><code>${code.replaceAll('_', '_<wbr>')}</code></td></tr>`,
  )
  return toPage(
    'Problems',
    `<h1>Problems</h1><p>What the server may refuse, by HTTP status and code.</p><table><thead><tr><th>HTTP</th><th>Problem</th><th>Code</th></tr></thead><tbody>${rows.join('')}</tbody></table>`,
  )
}

function toPage(title: string, body: string): Promise<ServedFile> {
  return site.page({
    title: `${title} · mediagen`,
    description: `${title}: what it means and what to do.`,
    main: `<article class="article">${body}</article>`,
    script: 'page.ts',
    showsLinks: true,
  })
}
