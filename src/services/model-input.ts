// Shared by quoting and starting: hashes the input, finds the model, validates the input against its schema.
import { digestParts, toCanonicalJson } from '@mediagen/engine/canonical-json.ts'
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { findInexact, inexactNumber } from '@mediagen/engine/exact-numbers.ts'
import type { Logger } from 'pino'
import type { Catalog, Model } from '../catalog/model.ts'
import { PriceError } from '../catalog/prices/pricing.ts'
import type { ApiKey } from '../core/accounts/key.ts'
import { MediagenError } from '../core/errors.ts'
import { cutText } from '../core/text/log-text.ts'
import { suggest } from '../core/text/similar-names.ts'
import { describeViolations } from '../core/violations.ts'
import { toPointerToken } from '../schema/violations.ts'
import { findEmpty, refuse } from './calls/request.ts'
import { checkAllowed } from './messages/limits.ts'

// An engine becomes ready after an operator has acted.
const retryUnreadySeconds = 30

/** An input as it was sent. */
export interface SentInput {
  readonly input: JsonObject
  /** Its RFC 8785 form. */
  readonly canonical: string
}

/**
 * Reads the input of a request, which must have a canonical form and no number that was rounded on its way, and checks that further texts are present.
 * @throws MediagenError `invalid_request`
 */
export function readInput(input: JsonObject | undefined, texts: Readonly<Record<string, string>>): SentInput {
  const violations = findEmpty(texts)
  const canonical = input ? toCanonicalJson(input) : { pointer: '/input', detail: 'is required' }
  if (typeof canonical === 'string')
    for (const pointer of findInexact(input, '/input')) violations.push({ pointer, detail: inexactNumber })
  else violations.push(canonical)
  refuse(violations)
  return { input: input as JsonObject, canonical: canonical as string }
}

/** What a quote is valid for: one account, one model, one input. */
export function digestQuoted(accountId: string, model: string, { canonical }: SentInput): string {
  return digestParts(accountId, model, canonical)
}

/** The model with this id. @throws MediagenError `model_not_found`, with the id of an alias or similar ids if the caller may read those */
export function findModel(catalog: Catalog, id: string, { permissions }: ApiKey): Model {
  const model = catalog.find(id)
  if (model) return model
  const mayRead = permissions.includes('models:read')
  const named = mayRead ? catalog.resolve(id) : undefined
  const similar = named
    ? `it is an alias of ${named.id}.`
    : suggest(id, mayRead ? catalog.ready().map((ready) => ready.id) : [])
  throw new MediagenError(
    'model_not_found',
    `There is no model "${cutText(id)}"${similar ? `; ${similar}` : '.'} GET /v1/models lists the models.`,
  )
}

/**
 * The model with this id, ready to run.
 * @throws MediagenError `model_not_found`, `model_not_allowed`, `model_ended` or `model_unavailable`
 */
export function findReadyModel(catalog: Catalog, id: string, caller: ApiKey): Model {
  const model = findModel(catalog, id, caller)
  checkAllowed(caller, model.id)
  if (catalog.endOf(model)?.isOver)
    throw new MediagenError(
      'model_ended',
      `“${model.name}” is gone: ${catalog.unready(model)}. Nothing was held.`,
      model.replacedBy === null ? {} : { replacedBy: model.replacedBy },
    )
  const reason = catalog.unready(model)
  if (reason !== null)
    throw new MediagenError('model_unavailable', `“${model.name}” is not ready: ${reason}. Nothing was held.`, {
      retryAfterSeconds: retryUnreadySeconds,
    })
  return model
}

/**
 * What an input costs.
 * @param input with the defaults of the schema
 * @param log for the operator, who has to mend the price
 * @throws MediagenError `invalid_input` where the model has no price for it: loading tries some values, not all
 */
export function quotePrice(model: Model, input: JsonObject, log: Pick<Logger, 'error'>): number {
  try {
    return model.quotedPrice(input)
  } catch (error) {
    if (!(error instanceof PriceError)) throw error
    const violations = Object.entries(error.values).map(([name, value]) => ({
      pointer: `/input/${toPointerToken(name)}`,
      detail: `has no price in ${model.id}: ${describeValue(value)}`,
    }))
    log.error({ model: model.id, reason: error.message, values: violations }, 'an input has no price')
    const words = `${model.id} has no price for this input, so nothing was held. ${describeViolations(violations)}`
    throw new MediagenError('invalid_input', words, { violations })
  }
}

/** Texts are not repeated: a log may show the words. */
function describeValue(value: JsonValue): string {
  if (typeof value === 'string') return `a text of ${[...value].length} characters`
  if (Array.isArray(value)) return `a list of ${value.length} items`
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

/**
 * Validates an input against its model's schema and applies the defaults.
 * @throws MediagenError `invalid_input` with every violation
 */
export function completeInput(model: Model, input: JsonObject): JsonObject {
  const checked = model.checkInput(input)
  if (checked.ok) return checked.input
  throw new MediagenError(
    'invalid_input',
    `The input breaks the schema of ${model.id}. ${describeViolations(checked.violations)}`,
    { violations: checked.violations },
  )
}
