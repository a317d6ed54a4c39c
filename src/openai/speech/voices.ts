// GET /v1/audio/voices: the voices of a model, as pickers of voices read them. docs/openai.md.
import type { FastifyInstance } from 'fastify'
import { flag, readQuery, text } from '../../gateway/query.ts'
import { record, string } from '../../gateway/schemas/schema-fields.ts'
import { doorQuery } from '../door.ts'
import { listVoices } from './speech-request.ts'
import { findSpeechModel, type SpeechDeps } from './speech.ts'

const query = {
  ...doorQuery,
  model: text('Model id or alias; that of the server where none is sent.'),
  legacy: flag('Whether `voices` has ids alone, as clients of older speech servers read it.'),
}

const voice = record('Voice', 'A voice of a model.', {
  id: { ...string, description: 'What a request sends as `voice`.' },
  name: { ...string, description: 'What to show.' },
})

const voicesSchema = record('Voices', 'The voices of a model, twice: clients read the one or the other.', {
  object: { const: 'list' },
  data: { type: 'array', items: voice, description: 'The voices; empty if the model names none.' },
  voices: { type: 'array', items: { anyOf: [voice, string] }, description: 'The same, or with `legacy` their ids.' },
})

/** Adds the route. */
export function addVoices(app: FastifyInstance, deps: SpeechDeps): void {
  app.get(
    '/v1/audio/voices',
    {
      // As for speech: the key that reads them is the one that speaks.
      config: { permission: 'generate' },
      schema: {
        operation: {
          id: 'listVoices',
          summary: 'List the voices of a model that speaks.',
          query,
          errors: ['model_not_found'],
        },
        response: { 200: voicesSchema },
      },
    },
    async (request) => {
      const { model: name, legacy } = readQuery(request, query)
      const data = listVoices(await findSpeechModel(request, deps, name))
      return { object: 'list', data, voices: legacy ? data.map(({ id }) => id) : data }
    },
  )
}
