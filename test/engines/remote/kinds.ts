// Every kind of provider with its fake, for tests that hold for all of them.
import type { EngineSpec, JsonObject } from '@mediagen/engine/engine.ts'
import { createFakeBfl, createFakeElevenlabs, createFakeGoogle, createFakeXai, type PaidFake } from './fakes/ai-sdk.ts'
import { createFakeCog } from './fakes/cog.ts'
import { createFakeComfyui } from './fakes/comfyui.ts'
import type { FakeUpstream } from './fakes/fake.ts'
import { createFakeFal } from './fakes/fal.ts'
import { createFakeOpenai } from './fakes/openai.ts'
import { createFakeReplicate } from './fakes/replicate.ts'
import { createFakeSdServer } from './fakes/sd-server.ts'
import { toSpec } from './remote-run.ts'

/** What a test of all kinds needs to know of one. */
export interface KindCase {
  readonly title: string
  readonly kind: string
  readonly input: JsonObject
  /** Where the submission goes. */
  readonly submission: RegExp
  /** Where the state is asked; null if the answer to the submission is the result. */
  readonly question: RegExp | null
  /** What becomes of a submission whose answer was lost: found by asking, sent again for free, or reviewed. */
  readonly lost: 'found' | 'again' | 'review'
  /** @param fails every run ends without success, for good; where the fake can */
  open(nowMs: () => number, fails?: boolean): { readonly fake: FakeUpstream; submissions(): number }
  toSpec(origin: string): EngineSpec
}

export const secrets = { KEY: 'sk-very-secret-0123456789' }
const withKey = { token_env: 'KEY' }
const token = secrets.KEY

/** A model of a package of the AI SDK. */
function sdkCase(
  name: string,
  task: 'image' | 'video' | 'speech',
  model: string,
  base: string,
  createFake: (options: { readonly token: string }) => PaidFake,
  rest: Pick<KindCase, 'submission' | 'question'>,
): KindCase {
  return {
    ...rest,
    title: `ai-sdk ${name} ${task}`,
    kind: 'ai-sdk',
    input: task === 'speech' ? { text: 'hello' } : { prompt: 'a boat' },
    lost: 'review',
    open() {
      const fake = createFake({ token })
      return { fake, submissions: () => fake.paid }
    },
    toSpec: (origin) => toSpec('ai-sdk', origin + base, { task, model }, { ...withKey, package: name }),
  }
}

/** Every package and task of the AI SDK. */
const sdkCases: readonly KindCase[] = [
  sdkCase('google', 'image', 'gemini-2.5-flash-image', '/v1beta', createFakeGoogle, {
    submission: /:generateContent$/,
    question: null,
  }),
  sdkCase('google', 'video', 'veo-3.1-generate-preview', '/v1beta', createFakeGoogle, {
    submission: /:predictLongRunning$/,
    question: /^GET .*\/operations\//,
  }),
  sdkCase('xai', 'image', 'grok-imagine-image', '/v1', createFakeXai, {
    submission: /^POST \/v1\/images\/generations$/,
    question: null,
  }),
  sdkCase('xai', 'video', 'grok-imagine-video', '/v1', createFakeXai, {
    submission: /^POST \/v1\/videos\/generations$/,
    question: /^GET \/v1\/videos\//,
  }),
  sdkCase('black-forest-labs', 'image', 'flux-2-pro', '/v1', createFakeBfl, {
    submission: /^POST \/v1\/flux-2-pro$/,
    question: /^GET \/v1\/get_result$/,
  }),
  sdkCase('black-forest-labs', 'video', 'flux-3-video', '/v1', createFakeBfl, {
    submission: /^POST \/v1\/flux-3-video$/,
    question: /^GET \/v1\/get_result$/,
  }),
  sdkCase('elevenlabs', 'speech', 'eleven_multilingual_v2', '', createFakeElevenlabs, {
    submission: /^POST \/v1\/text-to-speech\//,
    question: null,
  }),
]

export const kindCases: readonly KindCase[] = [
  {
    title: 'replicate',
    kind: 'replicate',
    input: { prompt: 'a boat' },
    submission: /^POST \/v1\/models\/acme\/picture\/predictions$/,
    question: /^GET \/v1\/predictions\/p/,
    lost: 'found',
    open(nowMs, fails) {
      const fake = createFakeReplicate({ nowMs, token, ...(fails && { fails: 'NSFW content detected' }) })
      return { fake, submissions: () => fake.predictions.length }
    },
    toSpec: (origin) => toSpec('replicate', `${origin}/v1`, { model: 'acme/picture' }, withKey),
  },
  {
    title: 'fal',
    kind: 'fal',
    input: { prompt: 'a boat' },
    submission: /^POST \/fal-ai\/flux\/dev$/,
    question: /^GET \/fal-ai\/flux\/requests\/[^/]+\/status$/,
    lost: 'review',
    open(_nowMs, fails) {
      const fake = createFakeFal({ token, ...(fails && { fails: { detail: 'flagged' } }) })
      return { fake, submissions: () => fake.queue.length }
    },
    toSpec: (origin) => toSpec('fal', origin, { model: 'fal-ai/flux/dev' }, withKey),
  },
  {
    title: 'openai image',
    kind: 'openai',
    input: { prompt: 'a boat' },
    submission: /^POST \/v1\/images\/generations$/,
    question: null,
    lost: 'review',
    open(nowMs) {
      const fake = createFakeOpenai({ nowMs, token, answersUrls: true })
      return { fake, submissions: () => fake.paid }
    },
    toSpec: (origin) => toSpec('openai', `${origin}/v1`, { task: 'image', model: 'flux' }, withKey),
  },
  {
    title: 'openai speech',
    kind: 'openai',
    input: { input: 'hello', voice: 'alloy' },
    submission: /^POST \/v1\/audio\/speech$/,
    question: null,
    lost: 'review',
    open(nowMs) {
      const fake = createFakeOpenai({ nowMs, token })
      return { fake, submissions: () => fake.paid }
    },
    toSpec: (origin) => toSpec('openai', `${origin}/v1`, { task: 'speech', model: 'tts-1' }, withKey),
  },
  {
    title: 'openai video',
    kind: 'openai',
    input: { prompt: 'a boat', seconds: '8' },
    submission: /^POST \/v1\/videos$/,
    question: /^GET \/v1\/videos\/video_\d+$/,
    lost: 'found',
    open(nowMs, fails) {
      const fake = createFakeOpenai({ nowMs, token, ...(fails && { fails: 'flagged' }) })
      return { fake, submissions: () => fake.paid }
    },
    toSpec: (origin) => toSpec('openai', `${origin}/v1`, { task: 'video', model: 'sora-2' }, withKey),
  },
  {
    title: 'comfyui',
    kind: 'comfyui',
    input: { prompt: 'a boat' },
    submission: /^POST \/prompt$/,
    question: /^GET \/api\/jobs\//,
    lost: 'found',
    open(_nowMs, fails) {
      const fake = createFakeComfyui(fails ? { fails: 'no codec' } : {})
      return { fake, submissions: () => fake.entries.length }
    },
    toSpec: (origin) =>
      toSpec('comfyui', origin, { workflow: 'workflow.json', inputs: { prompt: '/2/inputs/text' } }, withKey),
  },
  {
    title: 'comfyui without /api/jobs',
    kind: 'comfyui',
    input: { prompt: 'a boat' },
    submission: /^POST \/prompt$/,
    question: /^GET \/(queue|history\/.*)$/,
    lost: 'found',
    open(_nowMs, fails) {
      const fake = createFakeComfyui({ old: true, ...(fails && { fails: 'no codec' }) })
      return { fake, submissions: () => fake.entries.length }
    },
    toSpec: (origin) =>
      toSpec('comfyui', origin, { workflow: 'workflow.json', inputs: { prompt: '/2/inputs/text' } }, withKey),
  },
  {
    title: 'cog',
    kind: 'cog',
    input: { prompt: 'a boat' },
    submission: /^PUT \/predictions\//,
    question: null,
    lost: 'again',
    open(_nowMs, fails) {
      const fake = createFakeCog(fails ? { fails: 'no memory' } : {})
      return { fake, submissions: () => fake.ran.length }
    },
    toSpec: (origin) => toSpec('cog', origin, {}, withKey),
  },
  {
    title: 'sd-server',
    kind: 'sd-server',
    input: { prompt: 'a boat' },
    submission: /^POST \/sdcpp\/v1\/img_gen$/,
    question: /^GET \/sdcpp\/v1\/jobs\//,
    lost: 'again',
    open(_nowMs, fails) {
      const fake = createFakeSdServer(fails ? { fails: 'no memory' } : {})
      return { fake, submissions: () => fake.jobs.size }
    },
    toSpec: (origin) => toSpec('sd-server', origin, {}, withKey),
  },
  ...sdkCases,
]
