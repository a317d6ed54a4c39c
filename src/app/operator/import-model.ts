// Makes a catalog entry from a provider's description of a model. The price is left out, so the entry does not load before one is set.
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { importOpenapi, importWorkflow } from '../../engines/remote/import-schema.ts'
import { createUpstreamClient } from '../../outgoing/upstream-client.ts'

const timeoutMs = 30_000
const maxBytes = 16 * 1024 * 1024

/** The model to import: its kind of provider and its name there. */
export interface ImportOptions {
  readonly kind: string
  /** A URL (cog), OWNER/NAME (Replicate), an id (fal) or a file (ComfyUI). */
  readonly target: string
  /** The name of the provider in the catalog. */
  readonly provider: string
  readonly baseUrl?: string | undefined
  /** The provider's key, where it wants one. */
  readonly token: string | undefined
  readonly today: string
}

/** An entry without a price, and the fields that were taken for media. */
export interface ImportedModel {
  readonly entry: JsonObject
  readonly media: readonly string[]
}

/** @throws Error whose message says what could not be read */
export async function importModel(options: ImportOptions): Promise<ImportedModel> {
  const { kind, target, provider } = options
  const spec = { kind, provider }
  switch (kind) {
    case 'cog':
      return describe(
        options,
        spec,
        importOpenapi(await fetchJson(target, `${target.replace(/\/+$/, '')}/openapi.json`, options)),
      )
    case 'replicate': {
      const base = options.baseUrl ?? 'https://api.replicate.com/v1'
      const model = (await fetchJson(base, `${base}/models/${target}`, options)) as JsonObject | null
      const version = model?.['latest_version'] as JsonObject | null
      return describe(options, { ...spec, model: target }, importOpenapi(version?.['openapi_schema'] ?? null))
    }
    case 'fal': {
      const base = options.baseUrl ?? 'https://fal.ai/api'
      const url = `${base}/openapi/queue/openapi.json?endpoint_id=${encodeURIComponent(target)}`
      return describe(options, { ...spec, model: target }, importOpenapi(await fetchJson(base, url, options)))
    }
    case 'comfyui': {
      const { inputs, ...schema } = importWorkflow(JSON.parse(readFileSync(target, 'utf8')) as JsonValue)
      return describe(options, { ...spec, workflow: basename(target), inputs: { ...inputs } }, schema)
    }
    default:
      throw new Error(`there is nothing to import of the kind "${kind}"; there is of cog, replicate, fal and comfyui`)
  }
}

async function fetchJson(baseUrl: string, url: string, { kind, token }: ImportOptions): Promise<JsonValue> {
  const credentials: Record<string, string> = token
    ? { authorization: `${kind === 'fal' ? 'Key' : 'Bearer'} ${token}` }
    : {}
  const client = createUpstreamClient({ baseUrl, credentials })
  try {
    const { status, body } = await client.request({ method: 'GET', url, timeoutMs, maxBytes })
    if (status !== 200) throw new Error(`${new URL(url).host} answered ${status}`)
    return JSON.parse(body.toString('utf8')) as JsonValue
  } finally {
    await client.close()
  }
}

function describe(
  { target, provider, today }: ImportOptions,
  engine: JsonObject,
  { input, media }: { readonly input: JsonObject; readonly media: readonly string[] },
): ImportedModel {
  const name = basename(target.replace(/\/+$/, '').replace(/^https?:\/\//, '')).replace(/\.json$/, '')
  const slug =
    name
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-+|-+$/g, '') || 'model'
  const category = media.length > 0 ? 'image-to-image' : 'text-to-image'
  const entry = {
    id: `${provider}/${slug}/${category}`,
    name,
    description: name,
    category,
    modality: 'image',
    owned_by: provider,
    created: today,
    source_type: 'trainedAlgorithmicMedia',
    engine,
    input,
  }
  return { entry, media }
}
