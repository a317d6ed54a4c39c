// Videos: started by one request, asked for by others, from any process.
import type { Experimental_VideoModelV4 as VideoModelV4, JSONValue } from '@ai-sdk/provider'
import { InvalidArgumentError } from '@ai-sdk/provider'
import { given } from './draft.ts'
import { describeJob, type Jobs, outputsOf } from './jobs.ts'

/** A model that makes videos. */
export function createVideoModel(modelId: string, jobs: Jobs): VideoModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'mediagen',
    modelId,
    maxVideosPerCall: 1,
    async handleWebhookOption({ webhook }) {
      const { url, received } = await webhook()
      return { webhookUrl: url, received }
    },
    async doStart(call) {
      const { job, warnings, response } = await jobs.start(modelId, call, (draft) => {
        const { prompt, n, aspectRatio, resolution, duration, fps, seed, generateAudio } = call
        draft.set({ feature: 'prompt', values: given(prompt), names: ['prompt', 'text'] })
        draft.set({ feature: 'n', values: n > 1 ? [n] : [], names: ['n', 'num_videos'] })
        draft.set({ feature: 'aspectRatio', values: given(aspectRatio), names: ['aspect_ratio', 'ratio'] })
        draft.setSize('resolution', resolution, { values: toResolutions(resolution), names: ['resolution', 'size'] })
        const durations = duration === undefined ? [] : [duration, `${duration}`, `${duration}s`]
        draft.set({ feature: 'duration', values: durations, names: ['duration', 'seconds'] })
        draft.set({ feature: 'fps', values: given(fps), names: ['fps', 'frame_rate'] })
        draft.set({ feature: 'seed', values: given(seed), names: ['seed'] })
        draft.set({ feature: 'generateAudio', values: given(generateAudio), names: ['generate_audio'] })
        // The AI SDK has made the first of `frameImages` the image.
        draft.place({ feature: 'image', files: given(call.image) })
        const last = call.frameImages?.filter(({ frameType }) => frameType === 'last_frame') ?? []
        draft.place({ feature: 'frameImages', files: last.map(({ image }) => image), role: 'last' })
        draft.place({ feature: 'inputReferences', files: call.inputReferences ?? [], severalFirst: true })
      })
      return { operation: { jobId: job.job_id }, warnings, providerMetadata: { mediagen: describeJob(job) }, response }
    },
    async doStatus({ operation, ...call }) {
      const { job, response } = await jobs.read(readJobId(operation), call)
      const about = describeJob(job)
      if (job.status === 'queued' || job.status === 'running') {
        const providerMetadata = { mediagen: { ...about, progress: job.progress } }
        return { status: 'pending', providerMetadata, response }
      }
      const outputs = outputsOf(job, 'video')
      if (job.status !== 'succeeded' || outputs.length === 0) {
        const none = job.status === 'succeeded' ? 'The job made no video.' : `The job is ${job.status}.`
        const error = `${job.error?.message ?? none} (job ${about.jobId}, charged ${about.charged})`
        return { status: 'error', error, providerMetadata: { mediagen: about }, response }
      }
      const videos = await Promise.all(
        // The AI SDK itself downloads nothing from private addresses, where a server of one's own is.
        outputs.map(async (output) => {
          const data = await jobs.download(job, output, call)
          return { type: 'binary' as const, data, mediaType: output.content_type }
        }),
      )
      const providerMetadata = { mediagen: { ...about, videos: videos.map(() => about) } }
      return { status: 'completed', videos, warnings: [], providerMetadata, response }
    },
  }
}

/** As models write it: `1280x720`, or `720p`. */
function toResolutions(size: string | undefined): string[] {
  if (size === undefined) return []
  const lines = Math.min(...size.split('x').map(Number))
  return [size, `${lines}p`]
}

function readJobId(operation: JSONValue): string {
  const written =
    typeof operation === 'object' && operation !== null && 'jobId' in operation ? operation['jobId'] : null
  if (typeof written === 'string') return written
  throw new InvalidArgumentError({ argument: 'operation', message: 'operation: this is none that doStart returned.' })
}
