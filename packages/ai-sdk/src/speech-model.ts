// Speech.
import { APICallError, type SpeechModelV4 } from '@ai-sdk/provider'
import { given } from './draft.ts'
import { describeJob, type Jobs } from './jobs.ts'

/** A model that reads text aloud. */
export function createSpeechModel(modelId: string, jobs: Jobs): SpeechModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'mediagen',
    modelId,
    async doGenerate(call) {
      const { job, files, warnings, response } = await jobs.make(modelId, call, 'audio', (draft) => {
        const { text, voice, outputFormat, instructions, speed, language } = call
        draft.set({ feature: 'text', values: [text], names: ['text', 'prompt', 'input'] })
        draft.set({ feature: 'voice', values: given(voice), names: ['voice', 'voice_id'] })
        const formats = ['output_format', 'format', 'response_format']
        draft.set({ feature: 'outputFormat', values: given(outputFormat), names: formats })
        draft.set({ feature: 'instructions', values: given(instructions), names: ['instructions'] })
        draft.set({ feature: 'speed', values: given(speed), names: ['speed'] })
        draft.set({ feature: 'language', values: given(language), names: ['language', 'language_code'] })
      })
      const [audio] = files
      const about = describeJob(job)
      if (!audio) {
        const message = `Job ${about.jobId} succeeded without sound: ${modelId} is no model for speech.`
        throw new APICallError({ message, url: '', requestBodyValues: {}, data: about, isRetryable: false })
      }
      return { audio, warnings, providerMetadata: { mediagen: about }, response }
    },
  }
}
