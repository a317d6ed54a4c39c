// The answer to a request that no route takes: 405 where a route takes other methods, else 404.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import createRouter from 'find-my-way'
import { MediagenError } from '../core/errors.ts'
import { cutText } from '../core/text/log-text.ts'
import { explainBaseUrl } from './openai-paths.ts'

/**
 * Records the routes that are added from now on. They have one router together: a refusing route for each of Node's methods
 * would take 10 MB.
 * @returns why nothing takes a request; sets `Allow` where another method would be taken
 */
export function watchMethods(
  app: FastifyInstance,
  maxParamLength: number,
): (request: FastifyRequest, reply: FastifyReply) => MediagenError {
  const router = createRouter({ maxParamLength })
  const taken = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ method, url }) => {
    let known = taken.get(url)
    if (!known) {
      known = new Set()
      taken.set(url, known)
      router.on('GET', url, () => {}, known)
    }
    for (const each of [method].flat()) known.add(each)
  })
  return ({ method, url }, reply) => {
    const known: ReadonlySet<string> | undefined = router.find('GET', url)?.store
    if (!known) {
      const [path = ''] = url.split('?')
      const hint = explainBaseUrl(path) ?? explainFiles(path) ?? 'GET /openapi.json lists the routes.'
      return new MediagenError('route_not_found', `Nothing is served at ${cutText(`${method} ${path}`)}. ${hint}`)
    }
    const allowed = [...known].toSorted().join(', ')
    reply.header('allow', allowed)
    const verb = known.size === 1 ? 'is' : 'are'
    return new MediagenError('method_not_allowed', `${method} is not allowed here; ${allowed} ${verb}.`)
  }
}

/** Why files are not here, for whoever let the proxy of a fleet pass all of them to gateways. */
function explainFiles(path: string): string | null {
  return path.startsWith('/assets/')
    ? 'Files are served by the core, not by a gateway: MEDIAGEN_PUBLIC_URL of the core must lead to the core, or the proxy pass /assets and /samples on to it.'
    : null
}
