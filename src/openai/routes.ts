// The doors of OpenAI's interface. docs/openai.md.
import type { FastifyInstance } from 'fastify'
import { createAttempts } from './attempts.ts'
import { forbidRetries } from './door.ts'
import { addImageGenerations, type ImagesDeps } from './images.ts'
import { addSpeech, type SpeechDeps } from './speech.ts'
import { addVoices } from './voices.ts'

/** What all doors need. */
export type OpenaiDeps = ImagesDeps & SpeechDeps

/** Adds the routes. */
export function addOpenaiRoutes(app: FastifyInstance, deps: OpenaiDeps): void {
  const attempts = createAttempts(deps.nowMs)
  app.register(async (door) => {
    forbidRetries(door)
    addImageGenerations(door, attempts, deps)
    addSpeech(door, attempts, deps)
  })
  addVoices(app, deps)
}
