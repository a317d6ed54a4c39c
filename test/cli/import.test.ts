// `models import`: entries made from what providers publish; they load once a price is set, and not before.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dump, load } from 'js-yaml'
import { expect, test } from 'vitest'
import { hasHidden } from '../../src/core/text/hidden-characters.ts'
import { importWorkflow } from '../../src/engines/remote/import-schema.ts'
import { serveFake } from '../engines/remote/fakes/fake.ts'
import { openCommandLine } from './command-line.ts'

const cogSchema = {
  openapi: '3.0.2',
  components: {
    schemas: {
      size: { title: 'size', type: 'string', enum: ['small', 'large'], description: 'An enumeration.' },
      Input: {
        title: 'Input',
        type: 'object',
        required: ['image', 'prompt'],
        properties: {
          steps: { type: 'integer', title: 'Steps', default: 4, minimum: 1, maximum: 50, 'x-order': 3 },
          image: { type: 'string', title: 'Image', format: 'uri', 'x-order': 1 },
          prompt: { type: 'string', title: 'Prompt', 'x-order': 0 },
          size: { allOf: [{ $ref: '#/components/schemas/size' }], default: 'small', 'x-order': 2 },
        },
      },
    },
  },
}

const falSchema = {
  openapi: '3.0.4',
  components: {
    schemas: {
      FluxInput: {
        title: 'FluxInput',
        type: 'object',
        'x-fal-order-properties': ['prompt', 'image_url', 'image_size'],
        required: ['prompt'],
        properties: {
          image_size: {
            anyOf: [{ $ref: '#/components/schemas/ImageSize' }, { enum: ['square', 'portrait'], type: 'string' }],
          },
          image_url: { type: 'string', description: 'The image to start from' },
          prompt: { type: 'string' },
        },
      },
      ImageSize: { type: 'object', properties: { width: { type: 'integer', default: 512 } } },
    },
  },
  paths: {
    '/fal-ai/flux/dev': {
      post: {
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/FluxInput' } } } },
      },
    },
  },
}

/** What the command prints for people, parsed; checked to load with a price and to be refused without. */
async function importEntry(args: readonly string[], provider: object): Promise<any> {
  await using line = openCommandLine({ REPLICATE_API_TOKEN: 'r8_token', FAL_KEY: 'fal_key' })
  const { stdout, stderr, status } = await line.run(['admin', 'models', 'import', ...args, '--provider', 'p'])
  expect({ stdout, stderr, status }).toMatchObject({ status: 0 })
  expect(stderr).toContain('Set price')
  const [entry] = (load(stdout) as { models: object[] }).models
  writeFileSync(join(line.folder, 'workflow.json'), readFileSync(workflow))
  const check = (model: object) => {
    const file = join(line.folder, 'models.yaml')
    writeFileSync(file, dump({ providers: { p: provider }, models: [model] }))
    return line.run(['admin', 'models', 'check', file])
  }
  expect((await check(entry ?? {})).stderr).toContain('price is required')
  expect(await check({ ...entry, price: { credits: 1 } })).toMatchObject({ status: 0 })
  return { ...entry, said: stderr }
}

const workflow = join(import.meta.dirname, '../engines/remote/workflow.json')

test('cog: order, enums and ranges of the server itself, and media fields that are named', async () => {
  await using served = await serveFake({ answer: () => ({ status: 200, json: cogSchema }) })
  const entry = await importEntry(['cog', served.origin], { kind: 'cog', base_url: served.origin })
  expect(served.requests()).toEqual(['GET /openapi.json'])
  expect(Object.keys(entry.input.properties)).toEqual(['prompt', 'image', 'size', 'steps'])
  expect(entry.input).toMatchObject({
    required: ['image', 'prompt'],
    properties: {
      image: { type: 'string', format: 'media' },
      size: { type: 'string', enum: ['small', 'large'], default: 'small' },
      steps: { default: 4, minimum: 1, maximum: 50 },
    },
  })
  expect(entry.engine).toEqual({ kind: 'cog', provider: 'p' })
  expect(entry.said).toContain('Taken for media: image.')
})

test('replicate: the schema of the latest version', async () => {
  await using served = await serveFake({
    answer: ({ headers }) => ({
      status: headers['authorization'] === 'Bearer r8_token' ? 200 : 401,
      json: { latest_version: { openapi_schema: cogSchema } },
    }),
  })
  const entry = await importEntry(['replicate', 'acme/picture', '--base-url', `${served.origin}/v1`], {
    kind: 'replicate',
    token_env: 'REPLICATE_API_TOKEN',
  })
  expect(served.requests()).toEqual(['GET /v1/models/acme/picture'])
  expect(entry).toMatchObject({ id: 'p/picture/image-to-image', engine: { model: 'acme/picture' } })
})

test('fal: the schema of the endpoint, in its order', async () => {
  await using served = await serveFake({ answer: () => ({ status: 200, json: falSchema }) })
  const entry = await importEntry(['fal', 'fal-ai/flux/dev', '--base-url', served.origin], {
    kind: 'fal',
    token_env: 'FAL_KEY',
  })
  expect(served.log[0]?.query.get('endpoint_id')).toBe('fal-ai/flux/dev')
  expect(Object.keys(entry.input.properties)).toEqual(['prompt', 'image_url', 'image_size'])
  expect(entry.input.properties).toMatchObject({
    image_url: { format: 'media' },
    image_size: { anyOf: [{ properties: { width: { type: 'integer' } } }, { enum: ['square', 'portrait'] }] },
  })
})

test('comfyui: what people set in a workflow, and where it goes', async () => {
  const entry = await importEntry(['comfyui', workflow], { kind: 'comfyui', base_url: 'http://10.0.0.7:8188' })
  expect(entry.engine).toEqual({
    kind: 'comfyui',
    provider: 'p',
    workflow: 'workflow.json',
    inputs: { width: '/1/inputs/width', height: '/1/inputs/height', text: '/2/inputs/text', image: '/3/inputs/image' },
  })
  expect(entry.input.properties).toMatchObject({
    width: { type: 'integer', default: 64 },
    image: { type: 'string', format: 'media' },
  })
  const sampler = { class_type: 'KSampler', inputs: { steps: 20, cfg: 8, denoise: 1, seed: 5 } }
  const film = { class_type: 'CreateVideo', inputs: { fps: 24 } }
  const motion = { class_type: 'SVD_img2vid_Conditioning', inputs: { fps: 6 } }
  expect(importWorkflow({ 3: sampler, 4: film, 5: motion }).input['properties']).toMatchObject({
    fps: { type: 'number', default: 24 },
    fps_5: { type: 'integer', default: 6 },
    steps: { type: 'integer' },
    cfg: { type: 'number', default: 8 },
    denoise: { type: 'number' },
    seed: { type: 'integer' },
  })
})

test('what a provider says acts on no terminal, and is imported as it is', async () => {
  const description = 'a\u202Eb\u2066c\u009B31md\u001B[2Je\u200Ff\ng'
  const properties = { prompt: { type: 'string', description }, 'size\u202E': { type: 'string', description } }
  const json = { components: { schemas: { Input: { type: 'object', required: ['prompt'], properties } } } }
  await using served = await serveFake({ answer: () => ({ status: 200, json }) })
  await using line = openCommandLine()
  const { stdout } = await line.run(['admin', 'models', 'import', 'cog', served.origin, '--provider', 'p'])
  expect(hasHidden(stdout.replaceAll('\n', ''))).toBe(false)
  const [entry] = (load(stdout) as any).models
  expect(entry.input.properties).toMatchObject({ prompt: { description }, 'size\u202E': { description } })
})

test('an import that fails says why', async () => {
  await using served = await serveFake({ answer: () => ({ status: 404, body: 'nothing' }) })
  await using line = openCommandLine()
  const run = (...args: string[]) => line.run(['admin', 'models', 'import', ...args, '--provider', 'p'])
  expect(await run('cog', served.origin)).toMatchObject({ status: 1, stderr: expect.stringContaining('answered 404') })
  expect((await run('midjourney', 'x')).stderr).toContain('there is nothing to import of the kind "midjourney"')
  expect((await run('comfyui', join(import.meta.dirname, 'import.test.ts'))).stderr).toContain('Nothing was imported')
  expect((await run('comfyui', 'none.json')).stderr).toContain('from none.json: no such file or directory.')
})
