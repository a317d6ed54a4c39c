// A real server whose runs cost money elsewhere is killed with SIGKILL again and again, and its backend cuts requests off, before
// and after they count: nothing is paid twice, what was paid arrives, and nobody is charged for nothing.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'vitest'
import { openClient, openCommandLine } from '../cli/command-line.ts'
import { createChance } from '../simulation/random.ts'
import { afterLeases } from './after-leases.ts'

const startsBetweenKills = 3
const credits = 100_000
const price = 10
const model = 'test/dear/text-to-image'

/** A backend with bad lines, whose runs take a while. */
async function startBackend(random: () => number) {
  const runs = new Map<string, { key: string; looks: number; canceled: boolean }>()
  const counts = { accepted: 0, cutBefore: 0, cutAfter: 0, busy: 0 }
  let faults = true

  function submit(key: string, response: ServerResponse): void {
    const fault = faults ? random() : 1
    if (fault < 0.1) {
      counts.cutBefore += 1
      response.destroy()
      return
    }
    if (fault < 0.2) {
      counts.busy += 1
      response.writeHead(429).end()
      return
    }
    const id = `up_${runs.size}`
    runs.set(id, { key, looks: 0, canceled: false })
    counts.accepted += 1
    if (fault < 0.35) {
      counts.cutAfter += 1
      response.destroy()
    } else setTimeout(() => response.end(JSON.stringify({ id })), fault < 0.7 ? 150 : 0)
  }

  const server = createServer((request, response) => {
    const [, act, name = ''] = (request.url ?? '').split('/')
    if (act === 'submit') return submit(decodeURIComponent(name), response)
    if (faults && random() < 0.15) return void response.writeHead(503).end()
    const found = act === 'find' ? [...runs].find(([, run]) => run.key === decodeURIComponent(name))?.[0] : name
    const run = runs.get(found ?? '')
    if (run && act === 'look') run.looks += 1
    if (run && act === 'cancel') run.canceled = true
    const state = run?.canceled ? 'canceled' : (run?.looks ?? 0) > 3 ? 'succeeded' : 'running'
    response.end(JSON.stringify({ id: run ? found : null, state }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    /** Jobs whose runs were accepted, once for each. */
    paidJobs: () => [...runs.values()].map(({ key }) => key.split(':')[0] ?? ''),
    heal: () => void (faults = false),
    close: () => void (server.closeAllConnections(), server.close()),
  }
}

/** Kills a server so many times, at moments that the seed decides. */
export async function killWhilePaying(kills: number, seed: number): Promise<void> {
  const { number: random } = createChance(seed)
  const backend = await startBackend(random)
  const settings = {
    MEDIAGEN_RATE_LIMIT: '0',
    MEDIAGEN_CATALOG: join(import.meta.dirname, 'paid/models.yaml'),
    PAID_BACKEND_URL: backend.url,
  }
  await using line = openCommandLine(settings, join(import.meta.dirname, 'paid'))
  const { account_id } = await line.json([
    'admin',
    'accounts',
    'create',
    '--name',
    'paid',
    '--credits',
    String(credits),
  ])
  const permissions = 'generate,jobs:read,wallet:read'
  const { key } = await line.json(['admin', 'keys', 'create', '--account', account_id, '--permissions', permissions])
  try {
    for (let kill = 0; kill < kills; kill++) {
      const server = await line.serve()
      const client = openClient(server.httpUrl, key)
      for (let start = 0; start < startsBetweenKills; start++)
        await client.generate(model, { prompt: `${kill}-${start}` }, false)
      setTimeout(() => server.process.kill('SIGKILL'), random() * 600)
      await server.ended
    }
    backend.heal()
    const server = await line.serve(afterLeases.env)
    const { send } = openClient(server.httpUrl, key)
    const list = async (query: string) => (await send(`/v1/jobs?limit=500&${query}`)).body
    const paid = new Set(backend.paidJobs())
    const total = kills * startsBetweenKills
    // What was accepted arrives; what nobody ever got is refused, or waits for an operator.
    await expect
      .poll(
        async () => (await list('status=succeeded')).data.map(({ job_id }: { job_id: string }) => job_id).toSorted(),
        {
          timeout: 120_000,
          interval: 500,
        },
      )
      .toEqual(expect.arrayContaining([...new Set(backend.paidJobs())].toSorted()))
    await expect
      .poll(async () => (await list('status=running')).total + (await list('status=queued')).total, {
        timeout: 300_000,
      })
      .toBe(0)
    const all = (await list('')).data as { job_id: string; status: string; billing: { charged: number } }[]
    expect(all).toHaveLength(total)
    const accepted = backend.paidJobs()
    expect(accepted, 'nothing is paid twice').toHaveLength(new Set(accepted).size)
    for (const { job_id: jobId, status, billing } of all) {
      expect(['succeeded', 'needs_review'], jobId).toContain(status)
      expect(accepted.includes(jobId), jobId).toBe(status === 'succeeded')
      expect(billing.charged).toBe(status === 'succeeded' ? price : 0)
    }
    const reviews = all.filter(({ status }) => status === 'needs_review').length
    const charged = (total - reviews) * price
    expect((await send('/v1/wallet')).body).toEqual({
      available: credits - charged - reviews * price,
      held: reviews * price,
    })
    await server.stop()
    expect(await line.json(['admin', 'ledger', 'verify'])).toMatchObject({ ok: true, problems: [] })
    process.stdout.write(
      `${kills} kills, ${total} jobs, ${paid.size} paid before the last start, ${reviews} under review, ${JSON.stringify(backend.counts)}\n`,
    )
  } finally {
    backend.close()
  }
}
