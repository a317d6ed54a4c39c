// How a price comes about: in words, and as a table of examples. The openapi of a model has both under `x-price`.
import { element, icon } from './element.ts'
import { asObject } from './form-model.ts'
import { formatCredits, isConstantPrice } from './job-words.ts'
import type { Json, JsonObject, ModelDetailRecord } from './records.ts'

interface PriceExample {
  readonly of: string
  readonly credits: number
}

/** The price of a model, to unfold; a constant one has nothing to explain. */
export function priceTable({ pricing, openapi }: Pick<ModelDetailRecord, 'pricing' | 'openapi'>): HTMLElement | null {
  if (isConstantPrice(pricing)) return null
  const { quoted, used } = findExamples(openapi)
  const byUsage = pricing.billing === 'usage'
  return element(
    'details',
    { class: 'price-table' },
    element('summary', {}, element('span', {}, 'How the price is calculated'), icon('down')),
    element('p', {}, toSentence(describeFormula(pricing.summary))),
    table(byUsage ? 'Held at the start, at most' : 'Examples', quoted),
    table('Charged at the end', used),
    element(
      'p',
      { class: 'fine' },
      byUsage
        ? 'Before you start, you see the most that your input can cost, and that amount is held. You pay for what is used; the rest is returned.'
        : 'The exact price of your input is shown before you start. Credits are charged only if it succeeds.',
    ),
  )
}

function table(caption: string, [usual, ...others]: readonly PriceExample[]): HTMLElement | null {
  if (!usual) return null
  const isChange = caption !== 'Charged at the end' && others.length > 0
  return element(
    'table',
    {},
    element('caption', {}, caption),
    element(
      'tbody',
      {},
      row(usual.of, usual.credits),
      ...others.map(({ of, credits }) =>
        row(isChange ? `… with ${of.charAt(0).toLowerCase()}${of.slice(1)}` : of, credits),
      ),
    ),
  )
}

function row(words: string, credits: number): HTMLElement {
  return element('tr', {}, element('th', { scope: 'row' }, words), element('td', {}, formatCredits(credits)))
}

/** A formula as people write it; words stay as they are. */
export function describeFormula(summary: string): string {
  return summary.replaceAll(' * ', ' × ').replaceAll(/\bceil\(/g, 'round up(')
}

function toSentence(words: string): string {
  return /[.!?]$/.test(words) ? words : `${words}.`
}

function findExamples(openapi: JsonObject): Record<'quoted' | 'used', readonly PriceExample[]> {
  const [path] = Object.values(asObject(openapi['paths']))
  const price = asObject(asObject(asObject(path)['post'])['x-price'])
  return { quoted: toExamples(price['quoted']), used: toExamples(price['used']) }
}

function toExamples(list: Json | undefined): readonly PriceExample[] {
  return (Array.isArray(list) ? list : []).flatMap((one) => {
    const { of, credits } = asObject(one)
    return typeof of === 'string' && typeof credits === 'number' ? [{ of, credits }] : []
  })
}
