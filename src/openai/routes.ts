// The doors of OpenAI's interface. docs/openai.md.
import type { FastifyInstance } from 'fastify'
import { createAttempts } from './attempts.ts'
import { addImageEdits, type EditsDeps } from './images/edits.ts'
import { addImageGenerations, type ImagesDeps } from './images/images.ts'
import { addSpeech, type SpeechDeps } from './speech/speech.ts'
import { addVoices } from './speech/voices.ts'

/** What all doors need. */
export type OpenaiDeps = ImagesDeps & EditsDeps & SpeechDeps

/** Adds the routes. */
export function addOpenaiRoutes(app: FastifyInstance, deps: OpenaiDeps): void {
  const attempts = createAttempts(deps.nowMs)
  addImageGenerations(app, attempts, deps)
  addImageEdits(app, attempts, deps)
  addSpeech(app, attempts, deps)
  addVoices(app, deps)
}
