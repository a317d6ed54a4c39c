// Pictures: each call of the AI SDK is a job.
import type { ImageModelV4 } from '@ai-sdk/provider'
import { given } from './draft.ts'
import { describeJob, type Jobs } from './jobs.ts'

/** A model that makes pictures. */
export function createImageModel(modelId: string, jobs: Jobs): ImageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'mediagen',
    modelId,
    // The AI SDK makes a call, and so a job, for each picture.
    maxImagesPerCall: 1,
    async doGenerate(call) {
      const { job, files, warnings, response } = await jobs.make(modelId, call, 'image', (draft) => {
        const { prompt, n, size, aspectRatio, seed, files = [], mask } = call
        draft.set({ feature: 'prompt', values: given(prompt), names: ['prompt', 'text'] })
        draft.set({ feature: 'n', values: n > 1 ? [n] : [], names: ['n', 'num_images'] })
        draft.setSize('size', size, { values: given(size), names: ['size'] })
        draft.set({ feature: 'aspectRatio', values: given(aspectRatio), names: ['aspect_ratio', 'ratio'] })
        draft.set({ feature: 'seed', values: given(seed), names: ['seed'] })
        draft.place({ feature: 'files', files })
        draft.place({ feature: 'mask', files: given(mask), role: 'mask' })
      })
      const about = describeJob(job)
      return {
        images: files,
        // A job that is paid is not made again because it has no picture.
        isRetryable: false,
        warnings,
        providerMetadata: { mediagen: { ...about, images: files.map(() => about) } },
        response,
      }
    },
  }
}
