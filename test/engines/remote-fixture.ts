// A whole server whose models are on fakes of their providers.
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EngineSpec } from '@mediagen/engine/engine.ts'
import type { Overrides } from '../../src/app/app.ts'
import type { Provider } from '../../src/engines/remote/provider.ts'
import { createSecrets } from '../../src/engines/secrets.ts'
import { keepLog } from '../kept-log.ts'
import { startTestApp, type TestApp } from '../test-app.ts'
import { secrets } from './remote/kinds.ts'

function toModel(id: string, spec: EngineSpec, { price = { credits: 7 } }: { readonly price?: object }): object {
  const { base_folder: _, provider, ...engine } = spec
  return {
    id,
    name: id,
    description: id,
    category: 'text-to-image',
    modality: 'image',
    owned_by: 'test',
    created: '2026-01-01',
    price,
    engine: { ...engine, provider: (provider as Provider).name, concurrency: 8 },
    input: {
      type: 'object',
      properties: { prompt: { type: 'string' }, seconds: { type: 'string' }, input: {}, voice: {} },
    },
  }
}

/** A server. */
export interface Started extends AsyncDisposable {
  readonly app: TestApp
  /** Everything that it logged. */
  readonly lines: () => string
}

/** Starts a server whose catalog has these models; each provider has the model's name. */
export async function startServer(
  specs: Readonly<Record<string, EngineSpec>>,
  more: object = {},
  settings: Record<string, string> = {},
  overrides: Overrides = {},
): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-remote-'))
  copyFileSync(join(import.meta.dirname, './remote/workflow.json'), join(folder, 'workflow.json'))
  const named = Object.entries(specs).map(([name, spec]) => [name, spec.provider as Provider] as const)
  const providers = Object.fromEntries(named.map(([name, provider]) => [name, { ...provider, name: undefined }]))
  const models = Object.entries(specs).map(([name, spec]) =>
    toModel(`test/${name}`, { ...spec, provider: { ...(spec.provider as Provider), name } }, more),
  )
  writeFileSync(join(folder, 'models.yaml'), JSON.stringify({ providers, models }))
  const { log, lines } = keepLog()
  const app = await startTestApp(
    { MEDIAGEN_CATALOG: join(folder, 'models.yaml'), ...settings },
    { secrets: createSecrets(secrets), log, ...overrides },
  )
  return {
    app,
    lines: () => JSON.stringify(lines),
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    },
  }
}
