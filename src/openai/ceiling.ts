// What a request may cost: the first ceiling that is there.
import type { FastifyRequest } from 'fastify'
import { MediagenError } from '../core/errors.ts'
import { type CoreClient, forward } from '../gateway/core-client.ts'
import type { Parameter } from '../gateway/query.ts'

/** The header that carries it. */
export const maxCreditsHeader: Parameter<number | null> = {
  description: 'The most that this may cost, in credits.',
  schema: { type: 'integer', minimum: 0 },
  read(sent) {
    if (sent === undefined) return null
    const credits = Number(sent)
    if (!/^\d+$/.test(sent) || !Number.isSafeInteger(credits)) throw new Error('must be a whole number, 0 to 2^53 - 1')
    return credits
  },
}

/**
 * The ceiling of a request: of its header, its body, its key or this server.
 * @throws MediagenError `max_credits_required`
 */
export async function findCeiling(
  request: FastifyRequest,
  core: Pick<CoreClient, 'account'>,
  said: { header: number | null; body: number | null; server: number | null },
): Promise<number> {
  const asked = said.header ?? said.body
  if (asked !== null) return asked
  const { key } = await core.account.getOwnKey({}, forward(request))
  const ceiling = key?.limits?.perStart ?? said.server
  if (ceiling !== null) return Number(ceiling)
  throw new MediagenError(
    'max_credits_required',
    'Nothing says what this may cost. Send the header Mediagen-Max-Credits or the field max_credits, use a key with a limit per_start, or ask the operator of this server to set MEDIAGEN_OPENAI_MAX_CREDITS. Nothing was held.',
  )
}
