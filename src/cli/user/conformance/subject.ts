// Which model is started, and with which input.
import type { Input, Model, ModelDetail, Page, Quote } from '@mediagen/client/client.ts'
import { StartupError } from '../../../core/errors.ts'
import { findSchema } from '../schema.ts'
import type { Probe } from './probe.ts'

// The cheapest ones by the price that the list has.
const mostCandidates = 10

/** What is started. */
export interface Subject {
  readonly model: string
  readonly input: Input
  readonly firstQuote: Quote
}

/** The model that was named, or the cheapest one, with the input that was named, or an example. @throws StartupError if there is none */
export async function chooseSubject(probe: Probe, named: { model?: string; input?: Input }): Promise<Subject> {
  const models = named.model === undefined ? await listCheapest(probe) : [named.model]
  const found: Subject[] = []
  let refusal = ''
  for (const model of models) {
    const inputs = named.input
      ? [named.input]
      : findExamples((await probe.send<ModelDetail>(`/v1/models/${model}`)).body)
    for (const input of inputs) {
      const { body: firstQuote, words } = await probe.send<Quote>('/v1/quotes', { body: { model, input } })
      if (!firstQuote) refusal = ` (${words})`
      // What costs nothing has no entries in the ledger.
      else if (firstQuote.credits > 0) found.push({ model, input, firstQuote })
    }
  }
  const [cheapest] = found.toSorted((a, b) => a.firstQuote.credits - b.firstQuote.credits)
  if (cheapest) return cheapest
  throw new StartupError(
    `There is no price for ${named.model ?? 'any model'} with ${named.input ? 'this input' : 'an example of its own'}${refusal}. Name others with --model and --input.`,
  )
}

async function listCheapest({ get }: Probe): Promise<readonly string[]> {
  const { data } = await get<Page<Model>>('/v1/models?limit=500')
  const cheapest = data.toSorted((a, b) => a.pricing.from_credits - b.pricing.from_credits)
  return cheapest.slice(0, mostCandidates).map(({ id }) => id)
}

/** What the schema has for the required fields, and the input of a sample. */
function findExamples(model: ModelDetail | null): Input[] {
  if (!model) return []
  const { required = [], properties = {} } = findSchema(model.openapi)
  const values = required.map((name) => {
    const { examples, default: usual, enum: options } = properties[name] ?? {}
    return [name, examples?.[0] ?? usual ?? options?.[0]] as const
  })
  const filled = values.every(([, value]) => value !== undefined) ? [Object.fromEntries(values) as Input] : []
  return [...filled, ...model.samples.slice(0, 1).flatMap(({ input }) => (input as Input | null) ?? [])] as Input[]
}
