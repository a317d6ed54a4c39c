// The refusal of an output, with a message for the owner of the job.

import { EngineError } from '@mediagen/engine/engine.ts'

/** The error for an output that cannot be served; `words` follow its name. */
export function invalidOutput(name: string, words: string, options?: ErrorOptions): EngineError {
  return new EngineError('output_invalid', `Output ${name} ${words}.`, false, options)
}
