// The doors of OpenAI's interface. docs/openai.md.
import type { FastifyInstance } from 'fastify'
import { createAttempts } from './attempts.ts'
import { addImageEdits, type EditsDeps } from './edits.ts'
import { addImageGenerations, type ImagesDeps } from './images.ts'
import { addSpeech, type SpeechDeps } from './speech.ts'
import { addVoices } from './voices.ts'

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
