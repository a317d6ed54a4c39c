// `providers:` of catalog files and the settings of remote models: what is right is resolved, what is wrong is named by file,
// model and field. Every example of docs/connect-a-model.md and docs/backends loads.
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { loadCatalog } from '../../src/catalog/load.ts'
import type { RemoteSpec } from '../../src/engines/remote/provider.ts'
import { kinds } from './kinds.ts'
import { paintEntry } from './paint-entry.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-providers-'))
afterAll(() => rmSync(folder, { recursive: true }))

const workflow = readFileSync(join(import.meta.dirname, '../engines/remote/workflow.json'), 'utf8')
writeFileSync(join(folder, 'portrait.json'), workflow)
writeFileSync(join(folder, 'ui.json'), '{"nodes": [], "links": []}')

let files = 0
function write(content: string | object): string {
  const file = join(folder, `models-${(files += 1)}.yaml`)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

function model(engine: object, id = 'acme/paint/text-to-image'): object {
  return { ...paintEntry, id, engine }
}

const providers = {
  fal: { kind: 'fal', token_env: 'FAL_KEY' },
  studio: { kind: 'comfyui', base_url: 'http://10.0.0.7:8188' },
  google: { kind: 'ai-sdk', package: 'google', token_env: 'GEMINI_API_KEY' },
}

function load(engine: object, more: object = providers): unknown {
  return loadCatalog([write({ providers: more, models: [model(engine)] })], kinds)[0]?.engine
}

const docs = resolve(import.meta.dirname, '../../docs')
const pages = globSync(['connect-a-model.md', 'backends/*.md'], { cwd: docs })
const examples = pages.flatMap((page) =>
  [...readFileSync(join(docs, page), 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text),
)

test('every kind has an example on a page, and each loads as it stands there', () => {
  const loaded = examples.flatMap((text) => loadCatalog([write(text)], kinds))
  const remote = kinds.filter(({ provider }) => provider !== undefined).map(({ kind }) => kind)
  expect(new Set(loaded.map(({ engine }) => engine.kind))).toEqual(new Set(remote))
})

test('a model gets the provider that it names, from any file, and so do its fallbacks', () => {
  const engine = {
    kind: 'fal',
    provider: 'fal',
    model: 'fal-ai/flux/dev',
    fallback: [{ kind: 'comfyui', provider: 'studio', workflow: 'portrait.json' }],
  }
  const [loaded] = loadCatalog([write({ models: [model(engine)] }), write({ providers })], kinds)
  const spec = loaded?.engine as RemoteSpec
  expect(spec.provider).toEqual({ name: 'fal', kind: 'fal', token_env: 'FAL_KEY' })
  expect(spec.fallback?.[0]?.provider).toMatchObject({ name: 'studio', base_url: 'http://10.0.0.7:8188' })
})

describe('what is wrong is named by file, model and field', () => {
  const comfyui = { kind: 'comfyui', provider: 'studio', workflow: 'portrait.json' }
  test.each([
    [
      'an unknown provider',
      { kind: 'fal', provider: 'fall', model: 'a/b' },
      'engine.provider names "fall", but the catalog has only "fal", "studio", "google" under "providers"',
    ],
    [
      'a provider of another kind',
      { kind: 'fal', provider: 'studio', model: 'a/b' },
      'engine.provider names "studio", which is of the kind comfyui, not fal',
    ],
    [
      'a fallback’s provider',
      { kind: 'fal', provider: 'fal', model: 'a/b', fallback: [{ kind: 'cog', provider: 'gpu' }] },
      'engine.fallback.0.provider names "gpu"',
    ],
    ['a missing field', { kind: 'fal', provider: 'fal' }, 'engine.model'],
    ['a misspelt field', { kind: 'fal', provider: 'fal', model: 'a/b', modell: 1 }, 'engine.modell'],
    [
      'a misspelt field of a fallback',
      { kind: 'fal', provider: 'fal', model: 'a/b', fallback: [{ kind: 'cog', provider: 'gpu', x: 1 }] },
      'engine.fallback.0.x',
    ],
    ['a task that is none', { kind: 'openai', provider: 'fal', task: 'dance', model: 'x' }, 'engine.task'],
    [
      'a task that the package has not',
      { kind: 'ai-sdk', provider: 'google', task: 'speech', model: 'gemini-3.8-flash-tts' },
      'engine.task must be image or video with the package google',
    ],
    [
      'a model that the package no longer serves',
      { kind: 'ai-sdk', provider: 'google', task: 'image', model: 'imagen-4.0-generate-001' },
      'engine.model must begin with "gemini-"',
    ],
    [
      'a fallback whose package has no such task',
      {
        kind: 'fal',
        provider: 'fal',
        model: 'a/b',
        fallback: [{ kind: 'ai-sdk', provider: 'google', task: 'speech', model: 'x' }],
      },
      'engine.fallback.0.task must be image or video',
    ],
    [
      'a missing workflow',
      { ...comfyui, workflow: 'none.json' },
      'engine.workflow names none.json, which cannot be read',
    ],
    [
      'a workflow of the editor',
      { ...comfyui, workflow: 'ui.json' },
      'engine.workflow must be a workflow in API format',
    ],
    [
      'a node that the workflow lacks',
      { ...comfyui, inputs: { prompt: '/77/inputs/text' } },
      'engine.inputs.prompt points to /77/inputs/text, which the workflow does not have',
    ],
  ])('%s', (_, engine, words) => {
    const refused = (): unknown => load(engine)
    expect(refused).toThrow(words)
    expect(refused).toThrow(/models-\d+\.yaml: model "acme\/paint\/text-to-image": engine\./)
  })

  test.each([
    ['an unknown kind', { x: { kind: 'replicat' } }, 'providers.x.kind'],
    ['a hosted service without the name of its key', { fal: { kind: 'fal' } }, 'providers.fal'],
    ['a server without its address', { studio: { kind: 'comfyui' } }, 'providers.studio.base_url is required'],
    ['a key in place of its name', { fal: { kind: 'fal', token_env: 'sk-123' } }, 'providers.fal.token_env'],
    ['a password in a URL', { s: { kind: 'cog', base_url: 'http://u:p@10.0.0.1' } }, 'providers.s.base_url'],
    ['a misspelt field', { fal: { kind: 'fal', token_env: 'FAL_KEY', concurency: 3 } }, 'providers.fal.concurency'],
    ['no package', { google: { kind: 'ai-sdk', token_env: 'KEY' } }, 'providers.google.package is required'],
    [
      'a package that is none of them',
      { google: { kind: 'ai-sdk', package: '../x', token_env: 'KEY' } },
      'providers.google.package',
    ],
    ['a list', [], 'providers must be an object'],
  ])('%s', (_, wrong, words) => {
    expect(() => load({ kind: 'fal', provider: 'fal', model: 'a/b' }, wrong)).toThrow(words)
  })

  test('the name of a provider of another file', () => {
    expect(() => loadCatalog([write({ providers }), write({ providers })], kinds)).toThrow(
      /models-\d+\.yaml: providers\.fal is taken by an earlier file/,
    )
  })
})
