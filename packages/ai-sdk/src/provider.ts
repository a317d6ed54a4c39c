// The provider of mediagen for Vercel's AI SDK.
//
//   const mediagen = createMediagen({ baseURL: 'http://127.0.0.1:8080', apiKey: 'mgk_…', maxCredits: 5 })
//   const { image } = await generateImage({ model: mediagen.image('builtin/image/art/text-to-image'), prompt: 'aurora' })
import {
  type Experimental_VideoModelV4 as VideoModelV4,
  type ImageModelV4,
  NoSuchModelError,
  type ProviderV4,
  type SpeechModelV4,
} from '@ai-sdk/provider'
import { createImageModel } from './image-model.ts'
import { createJobs } from './jobs.ts'
import type { MediagenSettings } from './settings.ts'
import { createSpeechModel } from './speech-model.ts'
import { createVideoModel } from './video-model.ts'

export type { MediagenSettings } from './settings.ts'

/** Models of a mediagen server for the AI SDK. Ids are those of its catalog, such as `builtin/image/art/text-to-image`. */
export interface MediagenProvider extends ProviderV4 {
  image(modelId: string): ImageModelV4
  video(modelId: string): VideoModelV4
  speech(modelId: string): SpeechModelV4
  imageModel(modelId: string): ImageModelV4
  videoModel(modelId: string): VideoModelV4
  speechModel(modelId: string): SpeechModelV4
}

/** Creates a provider. @throws TypeError if `baseURL` is no URL */
export function createMediagen(settings: MediagenSettings): MediagenProvider {
  const jobs = createJobs(settings)
  const image = (modelId: string): ImageModelV4 => createImageModel(modelId, jobs)
  const video = (modelId: string): VideoModelV4 => createVideoModel(modelId, jobs)
  const speech = (modelId: string): SpeechModelV4 => createSpeechModel(modelId, jobs)
  const none = (modelType: 'languageModel' | 'embeddingModel') => (modelId: string) => {
    throw new NoSuchModelError({ modelId, modelType })
  }
  return {
    specificationVersion: 'v4',
    image,
    video,
    speech,
    imageModel: image,
    videoModel: video,
    speechModel: speech,
    languageModel: none('languageModel'),
    embeddingModel: none('embeddingModel'),
  }
}
