// Media that is handed in: how messages name the place of an input where it stands, and how they refuse it.
import { EngineError } from './engine.ts'

/** The name of a place in an input as people write it: `/images/0/url` is `images[0].url`. */
export function toFieldName(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((token, index) => (/^\d+$/.test(token) ? `[${token}]` : index === 0 ? token : `.${token}`))
    .join('')
}

/** A refusal of what was handed in: the same reference would be refused again. */
export function invalidMedia(field: string, words: string, options?: ErrorOptions): EngineError {
  return new EngineError('invalid_media', `${field} ${words}.`, false, options)
}
