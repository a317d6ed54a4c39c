// The doors of OpenAI's interface. docs/openai.md.
import type { FastifyInstance } from 'fastify'
import { createAttempts } from './attempts.ts'
import { addImageEdits, type EditsDeps } from './edits.ts'
import { addImageGenerations, type ImagesDeps } from './images.ts'

/** What all doors need. */
export type OpenaiDeps = ImagesDeps & EditsDeps

/** Adds the routes. */
export function addOpenaiRoutes(app: FastifyInstance, deps: OpenaiDeps): void {
  const attempts = createAttempts(deps.nowMs)
  addImageGenerations(app, attempts, deps)
  addImageEdits(app, attempts, deps)
}
