// Limits that hold for an installation whatever the number of its workers: at a provider, and at a webhook endpoint.
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openClient } from '../cli/command-line.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../storage/postgres-server.ts'
import { startFleet } from './fleet.ts'

const picture = readFileSync(join(import.meta.dirname, '../models/picture.png')).toString('base64')
const answerMs = 400
const slots = 2
const perMinute = 60
const jobsEach = 12
const spacedJobs = 5

/** A server that answers each POST after a while, and counts how many it has at once. */
async function startSlowServer(answer: string) {
  const begun: number[] = []
  let now = 0
  let most = 0
  const server = createServer((request, response) => {
    request.resume()
    // Whether it is there at all.
    if (request.method !== 'POST') return void response.end('{}')
    begun.push(performance.now())
    most = Math.max(most, (now += 1))
    setTimeout(() => {
      now -= 1
      response.setHeader('content-type', 'application/json').end(answer)
    }, answerMs)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    begun,
    most: () => most,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function toModel(provider: string): object {
  return {
    id: `test/${provider}`,
    name: provider,
    description: 'Made elsewhere.',
    category: 'text-to-image',
    modality: 'image',
    owned_by: 'tests',
    created: '2026-11-01',
    price: { credits: 1 },
    engine: { kind: 'openai', provider, task: 'image', model: 'flux', concurrency: 8 },
    input: { type: 'object', properties: { prompt: { type: 'string' } } },
  }
}

describe.skipIf(!hasPostgres)('two workers', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  test('share the slots and the rate of a provider, and the slots of a webhook endpoint', async () => {
    await using provider = await startSlowServer(JSON.stringify({ created: 1, data: [{ b64_json: picture }] }))
    await using spaced = await startSlowServer(JSON.stringify({ created: 1, data: [{ b64_json: picture }] }))
    await using receiver = await startSlowServer('')
    await using fleet = await startFleet({
      MEDIAGEN_DATABASE_URL: await server.createDatabase(),
      MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'true',
      MEDIAGEN_WEBHOOK_PLACES_PER_ENDPOINT: String(slots),
      MEDIAGEN_PUBLIC_URL: 'http://media.example',
      STUDIO_KEY: 'sk-0123456789',
    })
    const { line } = fleet
    const catalog = join(line.folder, 'remote.yaml')
    const usual = { kind: 'openai', token_env: 'STUDIO_KEY' }
    const providers = {
      studio: { ...usual, base_url: `${provider.url}/v1`, concurrency: slots },
      slow: { ...usual, base_url: `${spaced.url}/v1`, per_minute: perMinute },
    }
    writeFileSync(catalog, JSON.stringify({ providers, models: Object.keys(providers).map(toModel) }))
    const remote = { MEDIAGEN_CATALOG: catalog }
    const api = await fleet.serve('api', remote)
    const workers = [await fleet.serve('worker', remote), await fleet.serve('worker', remote)]

    const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'one', '--credits', '1000'])
    const permissions = 'generate,jobs:read,wallet:read,webhooks'
    const { key } = await line.json(['admin', 'keys', 'create', '--account', account_id, '--permissions', permissions])
    const client = openClient(api.httpUrl, key)
    expect((await client.send('/v1/webhooks', { url: receiver.url })).status).toBe(201)
    const jobs = await Promise.all([
      ...Array.from({ length: jobsEach }, () => client.generate('test/studio', { prompt: 'x' }, true)),
      ...Array.from({ length: spacedJobs }, () => client.generate('test/slow', { prompt: 'x' }, true)),
    ])
    expect(jobs.map(({ body }) => body.status)).toEqual(jobs.map(() => 'succeeded'))

    expect([provider.begun.length, provider.most()]).toEqual([jobsEach, slots])
    expect(spaced.begun).toHaveLength(spacedJobs)
    // Each for itself, two workers would need half of the time.
    const wholeMs = (spaced.begun.at(-1) ?? 0) - (spaced.begun[0] ?? 0)
    expect(wholeMs).toBeGreaterThan((60_000 / perMinute) * (spacedJobs - 1) * 0.8)
    await expect.poll(() => receiver.begun.length).toBe(jobs.length)
    expect(receiver.most()).toBeLessThanOrEqual(slots)
    // More than one had a part in the jobs; who sends a webhook is chance.
    const shown = await Promise.all(
      [...workers, ...fleet.workers].map((worker) => fetch(`${worker.httpUrl}/metrics`).then((one) => one.text())),
    )
    const ended = /^mediagen_jobs_total\{.*status="succeeded"\} [1-9]/m
    expect(shown.filter((text) => ended.test(text)).length).toBeGreaterThan(1)
  })
})
