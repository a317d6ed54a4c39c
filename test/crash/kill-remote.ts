// The real server is killed with SIGKILL between any two steps of remote runs: whenever a provider gets a request, before or after
// it handles it. No job is paid twice, and every accepted run is delivered.
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Provider } from '../../src/engines/remote/provider.ts'
import { openClient, openCommandLine } from '../cli/command-line.ts'
import { createFakeComfyui } from '../engines/remote/fakes/comfyui.ts'
import { type Fault, serveFake } from '../engines/remote/fakes/fake.ts'
import { createFakeReplicate } from '../engines/remote/fakes/replicate.ts'
import { kindCases, secrets } from '../engines/remote/kinds.ts'
import { createChance } from '../simulation/random.ts'
import { afterLeases } from './after-leases.ts'

const jobsBetweenKills = 2
const price = 7
const kinds = ['replicate', 'comfyui'] as const

interface Started {
  readonly kind: (typeof kinds)[number]
  readonly prompt: string
  readonly jobId: string
}

/**
 * Kills a server so many times, at requests that the seed decides.
 * @param maxAttempts kills that a job survives before it was submitted
 */
export async function killRemoteRuns(kills: number, seed: number, maxAttempts: number): Promise<void> {
  const { number: random } = createChance(seed)
  let aheadMs = 0
  const replicate = createFakeReplicate({ nowMs: () => Date.now() + aheadMs, polls: 0 })
  const comfyui = createFakeComfyui({ polls: 0 })
  let onRequest: () => Fault | null = () => null
  await using served = await serveFake(replicate, () => onRequest())
  await using local = await serveFake(comfyui, () => onRequest())
  await using line = openCommandLine({ ...secrets, MEDIAGEN_RATE_LIMIT: '0' })
  const settings = {
    MEDIAGEN_CATALOG: writeCatalog(line.folder, { replicate: served.origin, comfyui: local.origin }, maxAttempts),
  }
  const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'crash', '--credits', '100000'])
  const permissions = 'generate,jobs:read,wallet:read'
  const { key } = await line.json(['admin', 'keys', 'create', '--account', account_id, '--permissions', permissions])
  const started: Started[] = []
  const paidFor = (kind: Started['kind'], prompt: string): number =>
    kind === 'replicate'
      ? replicate.predictions.filter(({ input }) => (input as { prompt: string }).prompt === prompt).length
      : comfyui.entries.filter(({ prompt: workflow }) => JSON.stringify(workflow).includes(JSON.stringify(prompt)))
          .length
  for (let kill = 0; kill < kills; kill++) {
    const server = await line.serve(settings)
    const client = openClient(server.httpUrl, key)
    let left = 1 + Math.floor(random() * 10)
    const fault = random() < 0.5 ? ('cut before' as const) : ('cut after' as const)
    onRequest = () => {
      left -= 1
      if (left > 0) return null
      server.process.kill('SIGKILL')
      return fault
    }
    for (let i = 0; i < jobsBetweenKills; i++)
      for (const kind of kinds) {
        const prompt = `${kind} ${kill}-${i}`
        const jobId = await startJob(client, kind, prompt, `${kind}-${kill}-${i}`).catch(() => null)
        if (jobId !== null) started.push({ kind, prompt, jobId })
      }
    await server.ended
  }
  onRequest = () => null
  aheadMs = afterLeases.aheadMs
  const server = await line.serve({ ...settings, ...afterLeases.env })
  const client = openClient(server.httpUrl, key)
  let reviews = 0
  let worn = 0
  for (const { kind, prompt, jobId } of started) {
    const read = async (): Promise<string> => {
      const { status, error } = (await client.send(`/v1/jobs/${jobId}`)).body
      return status === 'failed' ? `failed: ${error.code} ${error.message}` : status
    }
    // A run over there that may be another job's is adopted once that job's answer is no longer awaited: after two minutes.
    await expect
      .poll(read, { timeout: 300_000, interval: 200 })
      .toMatch(/succeeded|needs_review|failed/)
      .catch(async (error: unknown) => {
        throw new Error(JSON.stringify(await line.json(['admin', 'jobs', 'show', jobId])), { cause: error })
      })
    const status = await read()
    if (status.startsWith('failed')) {
      // Only a job that met as many kills as its model allows, each before anything of it was submitted.
      expect([jobId, status]).toEqual([jobId, expect.stringContaining('failed: worker_lost')])
      const shown = await line.json(['admin', 'jobs', 'show', jobId])
      expect(shown).toMatchObject({ lost_runs: maxAttempts, charged: 0, released: price })
      expect(shown.upstream_runs.every(({ verdict }: { verdict: string }) => verdict === 'refused')).toBe(true)
      expect(paidFor(kind, prompt)).toBe(0)
      worn += 1
    } else if (kind === 'comfyui') expect([jobId, status]).toEqual([jobId, 'succeeded'])
    else {
      const paid = paidFor(kind, prompt)
      // What was accepted is found; what is reviewed never arrived there.
      const due = status === 'succeeded' ? 1 : 0
      expect(paid, paid === due ? jobId : JSON.stringify(await line.json(['admin', 'jobs', 'show', jobId]))).toBe(due)
      if (status === 'needs_review') reviews += 1
    }
  }
  // Jobs whose start was not acknowledged end, too: in the end, credits are held for reviews only. Such a job may become a review
  // after all others have ended, so both are read again.
  const inReview = async (): Promise<number> => (await client.send('/v1/jobs?status=needs_review&limit=500')).body.total
  const heldForMore = async (): Promise<number> => {
    const total = await inReview()
    return (await client.send('/v1/wallet')).body.held - total * price
  }
  await expect.poll(heldForMore, { timeout: 300_000, interval: 200 }).toBe(0)
  expect(await inReview()).toBeGreaterThanOrEqual(reviews)
  await server.stop()
  expect(await line.json(['admin', 'ledger', 'verify'])).toMatchObject({ ok: true, problems: [] })
  process.stdout.write(
    `${kills} kills, ${started.length} jobs, ${replicate.predictions.length} predictions, ${reviews} reviews, ${worn} that met too many kills\n`,
  )
}

function writeCatalog(
  folder: string,
  origins: Readonly<Record<(typeof kinds)[number], string>>,
  maxAttempts: number,
): string {
  copyFileSync(join(import.meta.dirname, '../engines/remote/workflow.json'), join(folder, 'workflow.json'))
  const providers: Record<string, unknown> = {}
  const models = kinds.map((kind) => {
    const spec = kindCases.find(({ title }) => title === kind)?.toSpec(origins[kind])
    const { provider, base_folder: _folder, ...engine } = spec ?? { kind }
    const { name, ...rest } = provider as Provider
    providers[name] = rest
    return {
      id: `test/${kind}`,
      name: kind,
      description: kind,
      category: 'text-to-image',
      modality: 'image',
      owned_by: 'test',
      created: '2026-01-01',
      price: { credits: price },
      // The clock of the last server is minutes ahead.
      engine: { ...engine, provider: name, concurrency: 100, max_attempts: maxAttempts, timeout_seconds: 3600 },
      input: { type: 'object', properties: { prompt: { type: 'string' } } },
    }
  })
  const file = join(folder, 'remote.yaml')
  writeFileSync(file, JSON.stringify({ providers, models }))
  return file
}

async function startJob(
  client: ReturnType<typeof openClient>,
  kind: string,
  prompt: string,
  idempotencyKey: string,
): Promise<string | null> {
  const request = { model: `test/${kind}`, input: { prompt } }
  const { body: quote } = await client.send('/v1/quotes', request)
  const { body } = await client.send(
    '/v1/generate',
    { ...request, quote_id: quote.quote_id },
    { 'idempotency-key': idempotencyKey },
  )
  return (body.job_id as string | undefined) ?? null
}
