// The browser console at `/`, the API reference at `/docs`, and what these and the other pages load from `/console/`; the
// operator's console at `/admin`, which is served where AdminService is.
import { join } from 'node:path'
import { onFirstUse } from '@mediagen/engine/first-use.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { MediagenError } from '../core/errors.ts'
import { createServedFile, type ServedFile } from './pages/served-file.ts'
import { createSite, fileHeaders } from './pages/site.ts'
import type { ServedAssets } from './routes/assets.ts'

const web = join(import.meta.dirname, '../../web')

/** The pages of every server. */
export const site = createSite(web, '/console/', ['main.ts', 'docs.ts', 'page.ts'])
/** The page of operators, with files of its own: its port may serve no other page. */
const adminSite = createSite(web, '/admin/', ['admin.ts'])

const noScript =
  '<noscript><p class="empty">The console needs JavaScript. The REST interface does not: see <a href="/openapi.json">/openapi.json</a>.</p></noscript>'

/**
 * Adds the routes.
 * @param maxUploadBytes the largest file that `POST /v1/files` takes
 * @param readCovers reads the pictures that the catalog shows at once; other pictures are loaded one by one
 */
export function addConsole(
  app: FastifyInstance,
  maxUploadBytes: number,
  readCovers: NonNullable<ServedAssets['covers']> = async () => ({}),
): void {
  const findCovers = onFirstUse(() => readCovers().then(toCoverFile))
  const nameCovers = ({ hash }: ServedFile): string => `covers.${hash}.json`
  const page = {
    title: 'mediagen',
    description: 'Console of a mediagen server: generate pictures, video and sound.',
    main: noScript,
    script: 'main.ts' as const,
    // The page refuses a file that is too large when it is chosen, not after it was sent.
    data: { 'max-upload-bytes': String(maxUploadBytes) },
  }
  const reference = {
    ...page,
    title: 'API reference · mediagen',
    description: 'Every operation of the REST interface, to read and to try.',
    main: noScript.replace('console', 'reference'),
    script: 'docs.ts' as const,
  }
  for (const [path, shown] of [
    ['/', page],
    ['/docs', reference],
  ] as const) {
    const find = onFirstUse(async () => {
      const name = nameCovers(await findCovers())
      return site.page({ ...shown, data: { ...shown.data, covers: `/console/${name}` } })
    })
    app.get(path, async (request, reply) => sendFile(request, reply, await find()))
  }
  // The address of a job as one guesses it from that of the API.
  app.get<{ Params: { id: string } }>('/jobs/:id', async ({ params }, reply) =>
    reply.redirect(`/#/job/${encodeURIComponent(params.id)}`),
  )
  app.get<{ Params: { name: string } }>('/console/:name', async (request, reply) => {
    const { name } = request.params
    const pictures = name.startsWith('covers.') ? await findCovers() : null
    const file = pictures && nameCovers(pictures) === name ? pictures : await site.find(name)
    if (!file) throw new MediagenError('route_not_found', 'The console has no such file. Reload its page.')
    return sendFile(request, reply, file)
  })
}

/** Adds the operator's console. */
export function addAdminConsole(app: FastifyInstance): void {
  const find = onFirstUse(() =>
    adminSite.page({
      title: 'Administration · mediagen',
      description: 'Console of the operator of a mediagen server: accounts, keys, usage, jobs, reviews.',
      main: '<noscript><p class="empty">The console needs JavaScript. The command <code>mediagen</code> does the same.</p></noscript>',
      script: 'admin.ts',
      // The key of an operator is kept apart from that of a user.
      data: { session: 'mediagen.admin' },
    }),
  )
  app.get('/admin', async (request, reply) => sendFile(request, reply, await find()))
  // A browser takes the fragment along.
  app.get('/admin/', async (_request, reply) => reply.redirect('/admin'))
  app.get<{ Params: { name: string } }>('/admin/:name', async (request, reply) => {
    const file = await adminSite.find(request.params.name)
    if (!file) throw new MediagenError('route_not_found', 'The console has no such file. Reload its page.')
    return sendFile(request, reply, file)
  })
}

function toCoverFile(pictures: Readonly<Record<string, string>>): ServedFile {
  const content = JSON.stringify(pictures)
  return createServedFile({ contentType: 'application/json; charset=utf-8', content, headers: fileHeaders })
}

/** Answers with a file. */
export async function sendFile(request: FastifyRequest, reply: FastifyReply, file: ServedFile): Promise<FastifyReply> {
  const { status, headers, body } = await file.answer(request.headers)
  return reply.code(status).headers(headers).send(body)
}
