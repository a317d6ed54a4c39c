// Offers models in the place of one that this server does not have.
import { element } from './element.ts'
import type { ModelRecord } from './records.ts'
import { toHash } from './route.ts'

const mostOffered = 4
// A model is offered if it has this share of what was written.
const leastShare = 0.25

/** Links to models that may have been meant by an id. */
export function similarModels(id: string, models: readonly ModelRecord[]): HTMLElement {
  return element(
    'section',
    { class: 'similar' },
    element('p', {}, `No model is called “${id}” here. Did you mean one of these?`),
    element(
      'ul',
      {},
      ...models.map((model) =>
        element(
          'li',
          {},
          element('a', { href: toHash({ view: 'model', id: model.id }) }, model.name),
          ' ',
          element('code', { class: 'fine' }, model.id),
        ),
      ),
    ),
  )
}

/** Models whose name or id shares groups of three letters with what was written, most first. */
export function findSimilar<Model extends Pick<ModelRecord, 'id' | 'name'>>(
  written: string,
  models: readonly Model[],
): readonly Model[] {
  const wanted = groupsOf(written)
  return models
    .map((model) => {
      const has = groupsOf(`${model.id} ${model.name}`)
      const shared = [...wanted].filter((group) => has.has(group)).length
      return { model, share: shared / Math.max(wanted.size, 1) }
    })
    .filter(({ share }) => share >= leastShare)
    .sort((left, right) => right.share - left.share)
    .slice(0, mostOffered)
    .map(({ model }) => model)
}

function groupsOf(text: string): Set<string> {
  const words = text.toLowerCase().split(/[^\p{L}\p{N}]+/u)
  return new Set(
    words.flatMap((word) => Array.from({ length: Math.max(word.length - 2, 0) }, (_, at) => word.slice(at, at + 3))),
  )
}
