// Why a model of a provider is not ready: in the catalog record over REST and gRPC, and in refusals, in words to act on (P71).
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import type { EngineSpec } from '@mediagen/engine/engine.ts'
import { expect, test } from 'vitest'
import { CatalogService } from '../../gen/mediagen/v1/catalog_pb.ts'
import type { Provider } from '../../src/engines/remote/provider.ts'
import { startServer } from './remote-fixture.ts'
import { type FakeAnswer, html, type ServedFake, serveFake } from './remote/fakes/fake.ts'
import { kindCases } from './remote/kinds.ts'

const refuses = (status: number, words: string): FakeAnswer => ({
  status,
  json: { detail: words, error: { message: words } },
})

/** What a provider answers to everything; null if nobody listens there. */
const troubles = {
  'without-key': { status: 200, json: {} },
  'wrong-key': refuses(401, 'bad key'),
  'no-model': refuses(404, 'no such model'),
  'web-page': html,
  unreachable: null,
} as const satisfies Readonly<Record<string, FakeAnswer | null>>

type Trouble = keyof typeof troubles

const titles = ['replicate', 'fal', 'openai image', 'comfyui', 'cog', 'sd-server', 'ai-sdk google image'] as const

/**
 * What cannot be asked for nothing. fal answers no question that is free; OpenAI, the servers like it and the packages of the AI
 * SDK list no models that one could look for; a hosted service that is out of order is waited for.
 */
const unasked: ReadonlySet<string> = new Set([
  ...['wrong-key', 'no-model', 'web-page', 'unreachable'].map((trouble) => `fal ${trouble}`),
  ...['replicate', 'openai image', 'ai-sdk google image'].map((title) => `${title} unreachable`),
  ...['openai image', 'ai-sdk google image'].map((title) => `${title} no-model`),
])

const words: Readonly<Record<Trouble, RegExp>> = {
  'without-key': /^a key that it needs is missing: the server has no environment variable NOT_SET$/,
  'wrong-key': /^\S+ answered 401: bad key$/,
  'no-model': /^\S+ answered 404: no such model$/,
  'web-page': /^\S+ answered 200 with a web page/,
  unreachable: /^\S+ could not be asked: the connection was refused$/,
}

test('a model that is not ready says why, whatever makes it', async () => {
  await using stack = new AsyncDisposableStack()
  const specs: Record<string, EngineSpec> = {}
  const rows: { readonly name: string; readonly trouble: Trouble; readonly isAsked: boolean }[] = []
  for (const one of kindCases.filter(({ title }) => (titles as readonly string[]).includes(title)))
    for (const [trouble, answer] of Object.entries(troubles) as [Trouble, FakeAnswer | null][]) {
      const served: ServedFake = stack.use(await serveFake(one.open(Date.now).fake, () => answer))
      const name = `${one.title} ${trouble}`.replaceAll(/[^a-z]+/g, '-')
      // Nobody listens at the other address, and the port stays taken: a port that was closed may be given to another server.
      const origin = answer === null ? served.origin.replace('127.0.0.1', '127.0.0.2') : served.origin
      const { provider, ...spec } = one.toSpec(origin)
      const key = trouble === 'without-key' ? { token_env: 'NOT_SET' } : {}
      specs[name] = { ...spec, provider: { ...(provider as Provider), ...key } }
      rows.push({ name, trouble, isAsked: !unasked.has(`${one.title} ${trouble}`) })
    }
  const { app } = stack.use(await startServer(specs))
  const catalog = createClient(CatalogService, createGrpcTransport({ baseUrl: app.app.grpcUrl ?? '' }))
  const headers = { authorization: `Bearer ${app.account.key}` }
  const { body: list } = await app.send('/v1/models?limit=500')
  const listed = new Set(list.data.map(({ id }: { id: string }) => id))
  for (const { name, trouble, isAsked } of rows) {
    const model = `test/${name}`
    const { body } = await app.send(`/v1/models/${model}`)
    const { unreadyReason = null } = await catalog.getModel({ model }, { headers })
    const expected = isAsked ? expect.stringMatching(words[trouble]) : null
    expect.soft([name, body.unready_reason, unreadyReason]).toEqual([name, expected, expected])
    expect.soft([name, listed.has(model)]).toEqual([name, !isAsked])
    if (!isAsked) continue
    const refusal = await app.send('/v1/quotes', { body: { model, input: { prompt: 'x' } } })
    expect.soft([refusal.status, refusal.body.code]).toEqual([503, 'model_unavailable'])
    expect.soft(refusal.body.detail).toContain(body.unready_reason)
  }
})
