// From a catalog entry to a model that can be quoted and run.
import { dirname } from 'node:path'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { type CatalogEntry, EntryError } from './entry.ts'
import { createMediaFinder } from './media-fields.ts'
import type { Model } from './model.ts'
import { checkOpenaiFields } from './openai-fields.ts'
import { createModelOpenapi } from './openapi.ts'
import { createPriceExamples, type PriceExamples } from './prices/price-examples.ts'
import { combineSamples, guaranteedFields, sampleField, usageSamples } from './prices/price-samples.ts'
import { compilePrice, maxCredits, type Price, PriceError } from './prices/pricing.ts'
import { readSamples, type Samples } from './samples.ts'
import { checkInputSchema } from './schema-faults.ts'
import type { SchemaCompiler } from './schema.ts'
import { completeSeed, findSeedField } from './seed.ts'

const defaultTimeoutSeconds = 600
const defaultConcurrency = 1
const defaultMaxAttempts = 3

/** The results of equal prices over equal fields, so each pair is tried once. */
export type TriedPrices = Map<string, readonly number[]>

/** What else is known of a model. */
interface ModelFacts {
  /** Whether tests found its price and its samples valid: they are compiled and read when they are requested. Default: no. */
  readonly isTested?: boolean
  /** See `Engine`; null, the default, if its engine is not reproducible. */
  readonly reproducibleAs?: string | null
}

/**
 * Creates a model.
 * @param file absolute path of the catalog file, for settings that name other files
 * @throws EntryError
 */
export function createModel(
  entry: CatalogEntry,
  file: string,
  schemas: SchemaCompiler,
  tried: TriedPrices = new Map(),
  { isTested = false, reproducibleAs = null }: ModelFacts = {},
): Model {
  let checkInput: Model['checkInput']
  let mediaOf: Model['mediaOf']
  try {
    if (!isTested) checkInputSchema(entry.input)
    checkInput = schemas.compileInput(entry.input)
    mediaOf = createMediaFinder(entry.input)
  } catch (error) {
    if (error instanceof EntryError) throw error
    throw new EntryError('input', `is not a JSON Schema: ${(error as Error).message}`)
  }
  const seedField = findSeedField(entry.input)
  const createdAtMs = Date.parse(`${entry.created}T00:00:00Z`)
  let pricing: Pricing | undefined
  const findPricing = (): Pricing => (pricing ??= createPricing(entry, tried))
  let openapi: JsonObject | undefined
  let samples: Samples | undefined
  const findSamples = (): Samples => (samples ??= readSamples(entry, dirname(file), isTested ? null : checkInput))
  if (!isTested) {
    findPricing()
    findSamples()
    checkOpenaiFields(entry, checkInput)
  }
  return {
    // Copies the id: a text from a YAML file is a slice of the file, with two bytes per character if the file has any beyond Latin-1.
    id: Buffer.from(entry.id).toString(),
    aliases: entry.aliases ?? [],
    product: entry.product ?? entry.id,
    mode: entry.mode ?? entry.category,
    name: entry.name,
    description: entry.description.trim(),
    category: entry.category,
    modality: entry.modality,
    ownedBy: entry.owned_by,
    createdAtMs,
    sourceType: entry.source_type ?? null,
    version: entry.version ?? null,
    released: entry.released ?? null,
    shutdownDate: entry.shutdown_date ?? null,
    replacedBy: entry.replaced_by ?? null,
    get billing() {
      return findPricing().billing
    },
    get priceSummary() {
      return findPricing().priceSummary
    },
    get fromCredits() {
      return findPricing().fromCredits
    },
    quotedPrice: (input) => findPricing().quotedPrice(input),
    usagePrice: (input) => findPricing().usagePrice(input),
    engine: { ...entry.engine, base_folder: dirname(file) },
    timeoutMs: (entry.engine.timeout_seconds ?? defaultTimeoutSeconds) * 1000,
    maxAttempts: entry.engine.max_attempts ?? defaultMaxAttempts,
    concurrency: entry.engine.concurrency ?? defaultConcurrency,
    inputSchema: entry.input,
    openaiFields: entry.openai ?? {},
    // Made on request, with the examples of its price.
    get openapi() {
      const { billing, priceSummary, createExamples } = findPricing()
      return (openapi ??= createModelOpenapi({
        id: entry.id,
        name: entry.name,
        description: entry.description.trim(),
        category: entry.category,
        inputSchema: findSamples().inputSchema,
        createdAtMs,
        price: { billing, summary: priceSummary, ...createExamples() },
      }))
    },
    get samples() {
      return findSamples().samples
    },
    get sampleFiles() {
      return findSamples().files
    },
    checkInput,
    mediaOf,
    seedField,
    isReproducible: reproducibleAs !== null,
    runVersion: entry.version ?? reproducibleAs,
    completeSeed: (sent, completed) =>
      seedField === null || reproducibleAs !== null
        ? completed
        : completeSeed(seedField, entry.input, checkInput, { sent, completed }),
  }
}

type Pricing = Pick<Model, 'billing' | 'priceSummary' | 'fromCredits' | 'quotedPrice' | 'usagePrice'> & {
  readonly createExamples: () => PriceExamples
}

function createPricing(entry: CatalogEntry, tried: TriedPrices): Pricing {
  const { price } = entry
  const field = price.credits === undefined ? 'at_most' : 'credits'
  const quoted = compileField(field, entry)
  const fields = guaranteedFields(entry.input)
  for (const variable of quoted.variables) {
    if (!fields.has(variable))
      throw new EntryError(
        `price.${field}`,
        `reads "${variable}", which is neither a required field of the input nor has a default`,
      )
  }
  const credits = tryPrice(quoted, field, entry, tried)
  const fromCredits = Math.min(...credits)
  const constant = quoted.variables.size === 0
  const written = constant
    ? `${fromCredits} ${fromCredits === 1 ? 'credit' : 'credits'}`
    : `${String(price[field])} credits`
  const quotedPrice = nameModel(entry.id, field, quoted)
  const properties = entry.input['properties'] as Record<string, JsonObject>
  if (field === 'credits') {
    return {
      billing: 'fixed',
      priceSummary: price.summary ?? written,
      fromCredits,
      quotedPrice,
      usagePrice: () => null,
      createExamples: () => createPriceExamples(properties, quoted, null),
    }
  }
  const actual = compileField('actual', entry)
  for (const variable of actual.variables) {
    if (variable !== 'usage' && !fields.has(variable))
      throw new EntryError(
        'price.actual',
        `reads "${variable}", which is neither \`usage\` nor a field that every input has`,
      )
  }
  tryPrice(actual, 'actual', entry, tried)
  const tryUsage = nameModel(entry.id, 'actual', { ...actual, evaluate: (input) => tryAmounts(actual, input) })
  return {
    billing: 'usage',
    priceSummary: price.summary ?? `at most ${written}; charged: ${String(price.actual)}`,
    fromCredits,
    quotedPrice: (input) => {
      tryUsage(input)
      return quotedPrice(input)
    },
    usagePrice: createUsagePrice(String(price.actual), actual),
    createExamples: () => createPriceExamples(properties, quoted, actual),
  }
}

type PriceField = 'credits' | 'at_most' | 'actual'

function compileField(field: PriceField, { price }: CatalogEntry): Price {
  try {
    return compilePrice(String(price[field]))
  } catch (error) {
    throw toEntryError(error, field)
  }
}

/**
 * Tries a price on samples of the input and, where it may read it, of usage.
 * @returns what each sample costs
 * @throws EntryError for the first that has no price
 */
function tryPrice(price: Price, field: PriceField, entry: CatalogEntry, tried: TriedPrices): readonly number[] {
  const properties = entry.input['properties'] as Record<string, JsonObject>
  const billed = field === 'actual'
  const names = [...price.variables].filter((name) => !billed || name !== 'usage')
  const usageNames = billed ? [...price.usageFields] : []
  const sameAs = JSON.stringify([field, String(entry.price[field]), names.map((name) => properties[name])])
  const known = tried.get(sameAs)
  if (known) return known
  const fields = [...names.map((name) => sampleField(properties[name] ?? {})), ...usageNames.map(() => usageSamples)]
  const credits = combineSamples(fields).map((values) => {
    const input = Object.fromEntries(names.map((name, index) => [name, values[index] ?? null]))
    const usage = Object.fromEntries(usageNames.map((name, index) => [name, values[names.length + index] as number]))
    try {
      const credits = price.evaluate(input, billed ? usage : undefined)
      // Only a division by zero makes a sample of usage this expensive.
      if (credits === maxCredits) throw new PriceError(`"${String(entry.price[field])}" gives more than any hold`)
      return credits
    } catch (error) {
      const sample = JSON.stringify(billed ? { ...input, usage } : input)
      throw toEntryError(error, field, ` (for ${sample.slice(0, 200)})`)
    }
  })
  tried.set(sameAs, credits)
  return credits
}

/** The highest price of some amounts of usage: an input for which it fails is refused before the work is done. */
function tryAmounts({ usageFields, evaluate }: Price, input: JsonObject): number {
  const amounts = usageSamples.corners as readonly number[]
  const costs = amounts.map((amount) =>
    evaluate(input, Object.fromEntries([...usageFields].map((name) => [name, amount]))),
  )
  return Math.max(...costs)
}

function createUsagePrice(expression: string, { variables }: Price): Model['usagePrice'] {
  const names = [...variables].filter((name) => name !== 'usage')
  return (input) => ({ expression, input: Object.fromEntries(names.map((name) => [name, input[name] ?? null])) })
}

/** Adds the model to the error of a price that cannot be computed: loading tries some inputs, not all. */
function nameModel(id: string, field: PriceField, price: Price): Model['quotedPrice'] {
  return (input) => {
    try {
      return price.evaluate(input)
    } catch (error) {
      if (!(error instanceof PriceError)) throw error
      const names = [...price.variables].filter((name) => name !== 'usage')
      const values = Object.fromEntries(names.map((name) => [name, input[name] ?? null]))
      throw new PriceError(`price.${field} of ${id}: ${error.message}`, values)
    }
  }
}

function toEntryError(error: unknown, field: PriceField, where = ''): unknown {
  return error instanceof PriceError ? new EntryError(`price.${field}`, error.message + where) : error
}
