// How an output is refused, in words that the owner of the job reads.

import { EngineError } from '@mediagen/engine/engine.ts'

/** The error for an output that cannot be served; `words` go on after its name. */
export function invalidOutput(name: string, words: string, options?: ErrorOptions): EngineError {
  return new EngineError('output_invalid', `Output ${name} ${words}.`, false, options)
}
