// Programs that people already have make pictures here: the AI SDK itself, and requests as other programs build them, with what each
// of them shows its user (P250, P253, P254, P255, P269). Their requests were read in:
// - open-webui/open-webui 02530d501461ce58ab06231d7c2ef2024a141ddf, backend/open_webui/routers/images.py
// - danny-avila/LibreChat 8731432f64aaaf70633b0a60922ee8182baa630d, api/app/clients/tools/structured/OpenAIImageTools.js
// - nextcloud/integration_openai d807260718250f93d7eb52063ec4f85e698c408a, lib/Service/OpenAiAPIService.php
// - n8n-io/n8n 98c7dba83628bb722e1f315de32fd899dd970096, the operation image/generate of its OpenAI node (OpenAi/v2)
// - langgenius/dify-official-plugins 286718e5564fa85b6ddd73235b5538b3e7a9d092, tools/openai/tools/gpt_image_generate.py
// - BerriAI/litellm 008d4a202a9bf5562a07c5c82143a4b8727f12ba, litellm/llms/openai/openai.py
import { once } from 'node:events'
import { type IncomingMessage, request as sendRequest } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateImage } from 'ai'
import OpenAI from 'openai'
import { afterAll, describe, expect, test } from 'vitest'
import { Permission } from '../../gen/mediagen/v1/options_pb.ts'
import { startTestApp } from '../test-app.ts'
import { cutFirst } from './cut-line.ts'

const catalogs = ['models/openai.yaml', 'models/programs.yaml'].map((name) => join(import.meta.dirname, '..', name))
const app = await startTestApp({ MEDIAGEN_CATALOG: catalogs.join(':') })
afterAll(() => app[Symbol.asyncDispose]())

/** A key whose requests may cost so much. */
async function createKey(credits: number, perStart: bigint): Promise<string> {
  const { accountId } = await app.createAccount(credits)
  const permissions = [Permission.GENERATE, Permission.JOBS_READ]
  return (await app.admin.createKey({ accountId, permissions, limits: { perStart } })).secret
}

const png = Buffer.from('\u0089PNG', 'latin1').toString('base64').slice(0, 5)

/** Posts as a program without a library does. */
async function post(key: string, body: object, agent: string) {
  const sent = sendRequest(`${app.url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'user-agent': agent },
  })
  sent.end(JSON.stringify(body))
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: answer.statusCode ?? 0, reason: answer.statusMessage ?? '', body: JSON.parse(await text(answer)) }
}

/** A program. @returns the picture in base64, or the words that its user sees */
interface Program {
  readonly name: string
  /** @param ceiling where the program can send one */
  readonly make: (key: string, ceiling: number) => Promise<{ picture: string } | { shown: string }>
  readonly shown: { wrongKey: RegExp; noCredits: RegExp; ceiling: RegExp }
}

const words = {
  wrongKey: /API key/i,
  noCredits: /available/,
  ceiling: /allows at most/,
}

async function asLibrary(key: string, body: OpenAI.ImageGenerateParamsNonStreaming) {
  const sdk = new OpenAI({ apiKey: key, baseURL: `${app.url}/v1` })
  return sdk.images.generate(body).then(
    ({ data }) => ({ picture: data?.[0]?.b64_json ?? '' }),
    (error: Error) => ({ shown: error.message }),
  )
}

const programs: Program[] = [
  {
    name: 'Open WebUI',
    // Its additional parameters are merged into the body. It shows the reason phrase alone.
    async make(key, ceiling) {
      const settings = { max_credits: ceiling }
      const body = {
        model: 'dall-e-2',
        prompt: 'a fox',
        n: 1,
        size: '512x512',
        response_format: 'b64_json',
        ...settings,
      }
      const { status, reason, body: answer } = await post(key, body, 'Python/3.11 aiohttp/3.13')
      return status < 400 ? { picture: answer.data[0].b64_json } : { shown: `[ERROR: ${reason}]` }
    },
    shown: { wrongKey: /invalid_api_key/, noCredits: /insufficient_credits/, ceiling: /price_above_maximum/ },
  },
  {
    name: 'LibreChat',
    make: async (key) =>
      asLibrary(key, {
        model: 'gpt-image-1',
        prompt: 'a fox',
        n: 1,
        background: 'auto',
        output_format: 'png',
        quality: 'auto',
        size: 'auto',
      }),
    shown: words,
  },
  {
    name: 'Nextcloud',
    async make(key) {
      const body = { prompt: 'a fox', size: '1024x1024', n: 1, model: 'gpt-image-1-mini' }
      const { status, body: answer } = await post(key, body, 'Nextcloud OpenAI/LocalAI integration')
      return status < 400 ? { picture: answer.data[0].b64_json } : { shown: answer.error.message }
    },
    shown: words,
  },
  {
    name: 'n8n',
    async make(key) {
      const body = { prompt: 'a fox', model: 'dall-e-2', response_format: 'b64_json' }
      const { status, body: answer } = await post(key, body, 'n8n')
      return status < 400 ? { picture: answer.data[0].b64_json } : { shown: answer.error.message }
    },
    shown: words,
  },
  {
    name: 'Dify',
    // It calls OpenAI's Python library with what differs from its defaults.
    make: async (key) => asLibrary(key, { model: 'gpt-image-1', prompt: 'a fox', n: 1, size: '1024x1024' }),
    shown: words,
  },
  {
    name: "LiteLLM's proxy",
    // It calls OpenAI's Python library, which sends what the JavaScript one does.
    make: async (key) => asLibrary(key, { model: 'gpt-image-1', prompt: 'a fox', n: 1, size: '1024x1024' }),
    shown: words,
  },
]

describe.each(programs)('$name', ({ make, shown }) => {
  test('gets a picture', async () => {
    expect(await make(await createKey(100, 10n), 10)).toEqual({ picture: expect.stringMatching(`^${png}`) })
  })

  test('shows why there is none', async () => {
    const seen = {
      wrongKey: await make('mgk_wrong', 10),
      noCredits: await make(await createKey(0, 10n), 10),
      ceiling: await make(await createKey(100, 1n), 1),
    }
    if (process.env['MEDIAGEN_TEST_PRINT']) console.log(seen)
    for (const [why, pattern] of Object.entries(shown))
      expect(seen[why as keyof typeof seen], why).toEqual({ shown: expect.stringMatching(pattern) })
  })
})

describe('the AI SDK', () => {
  const headers = { 'Mediagen-Max-Credits': '10' }

  async function createModel(fetched: typeof fetch = fetch, name = 'gpt-image-1') {
    const account = await app.createAccount(1000)
    const provider = createOpenAICompatible({
      name: 'mediagen',
      apiKey: account.key,
      baseURL: `${app.url}/v1`,
      headers,
      fetch: fetched,
    })
    const jobs = async () => (await app.send('/v1/jobs', { key: account.key })).body
    const wallet = async () => (await app.send('/v1/wallet', { key: account.key })).body
    return { model: provider.imageModel(name), jobs, wallet }
  }

  test('makes three pictures at once: equal requests side by side, if it splits them', async () => {
    const { model, jobs, wallet } = await createModel()
    const { images } = await generateImage({ model, prompt: 'a fox', n: 3, maxImagesPerCall: 1, size: '512x512' })
    expect(images.map(({ base64 }) => base64.startsWith(png))).toEqual([true, true, true])
    expect((await jobs()).total).toBe(3)
    expect(await wallet()).toMatchObject({ available: 994, held: 0 })
  })

  test('repeats after a cut line, and pays once', async () => {
    const gate = app.gate()
    const error = Object.assign(new TypeError('fetch failed'), { cause: new Error('the line was cut') })
    const line = cutFirst(gate, error)
    const { model, jobs, wallet } = await createModel(line.fetched, 'test/openai/gate')
    const { images } = await generateImage({ model, prompt: 'x', providerOptions: { mediagen: gate.input } })
    expect([line.asked, images.length, (await jobs()).total]).toEqual([2, 1, 1])
    expect(await wallet()).toMatchObject({ available: 990, held: 0 })
  })
})
