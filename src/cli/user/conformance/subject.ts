// Which model is started, and with which input.
import type { Input, Json, Model, ModelDetail, Page, Quote } from '@mediagen/client/client.ts'
import { toModelPath } from '@mediagen/client/paths.ts'
import { StartupError } from '../../../core/errors.ts'
import { findSchema, type Schema } from '../schema.ts'
import { describe, type Probe } from './probe.ts'

// The cheapest ones by the price that the list has.
const mostCandidates = 10

/** What is started, and a first quote for it. */
export interface Subject {
  readonly model: string
  readonly input: Input
  readonly quote: Quote
}

/** The model and input that were named, or the cheapest that can be filled by its own example. @throws StartupError if there is none */
export async function chooseSubject(probe: Probe, named: { model?: string; input?: Input }): Promise<Subject> {
  const { model, input } = named
  if (model !== undefined && input !== undefined) {
    const answer = await quote(probe, model, input)
    if (answer.status === 200) return { model, input, quote: answer.body as Quote }
    throw new StartupError(`${model} cannot be quoted with this input: ${describe(answer)}.`)
  }
  const ids = model === undefined ? await listCheapest(probe) : [model]
  const found: Subject[] = []
  for (const id of ids) {
    const { status, body } = await probe.send<ModelDetail>(toModelPath(id))
    for (const candidate of status === 200 ? findExamples(body as ModelDetail) : []) {
      const answer = await quote(probe, id, candidate)
      // What costs nothing has no entries in the ledger.
      if (answer.status === 200 && (answer.body.credits ?? 0) > 0)
        found.push({ model: id, input: candidate, quote: answer.body as Quote })
    }
  }
  const [cheapest] = found.toSorted((a, b) => a.quote.credits - b.quote.credits)
  if (cheapest) return cheapest
  throw new StartupError(
    `${model ?? 'No model of the list'} can${model ? 'not' : ''} be quoted with its own example for a price. Name one with --model and --input.`,
  )
}

function quote({ send }: Probe, model: string, input: Input) {
  return send<Quote>('/v1/quotes', { body: { model, input } })
}

async function listCheapest({ send }: Probe): Promise<readonly string[]> {
  const answer = await send<Page<Model>>('/v1/models?limit=500')
  if (!answer.body.data) throw new StartupError(`The models cannot be listed: ${describe(answer)}.`)
  return answer.body.data
    .toSorted((a, b) => a.pricing.from_credits - b.pricing.from_credits)
    .slice(0, mostCandidates)
    .map(({ id }) => id)
}

/** What the schema gives for the required fields, and the input of the first sample. */
function findExamples({ openapi, samples }: ModelDetail): Input[] {
  const { required = [], properties = {}, examples = [] } = findSchema(openapi)
  const values = required.map((name) => [name, exampleOf(properties[name] ?? {})] as const)
  const filled = values.every(([, value]) => value !== undefined) ? [Object.fromEntries(values) as Input] : []
  const whole = examples.filter((example) => typeof example === 'object') as Input[]
  return [
    ...filled,
    ...whole.slice(0, 1),
    ...samples.slice(0, 1).flatMap(({ input }) => (input ? [input as Input] : [])),
  ]
}

function exampleOf({ examples, default: usual, enum: options, type, format, minLength = 0 }: Schema): Json | undefined {
  const plain = type === 'string' && format === undefined && minLength < 20 ? 'a lighthouse at dusk' : undefined
  return examples?.[0] ?? usual ?? options?.[0] ?? plain
}

/** Inputs that differ from one in a single value; some may be refused by the schema. */
export function changeInput(input: Input): Input[] {
  return Object.entries(input).flatMap(([name, value]): Input[] => {
    if (typeof value === 'string') return [{ ...input, [name]: `${value} again` }]
    if (typeof value === 'number') return [value + 1, value - 1].map((other) => ({ ...input, [name]: other }))
    return typeof value === 'boolean' ? [{ ...input, [name]: !value }] : []
  })
}
