// ComfyUI: the fake answers as the real one did, and what was met of the real one.
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createFakeComfyui } from './fakes/comfyui.ts'
import { failing, serveFake } from './fakes/fake.ts'
import { abandonRun, openRemote, outcomeOf, startKeptRun, toSpec } from './remote-run.ts'

interface Step {
  readonly request?: { readonly method: string; readonly path: string; readonly body?: unknown }
  readonly response?: { readonly status: number; readonly body: Record<string, unknown> }
}

const { scenarios } = JSON.parse(readFileSync(new URL('data/comfyui-transcript.json', import.meta.url), 'utf8')) as {
  scenarios: { name: string; steps: Step[] }[]
}

const mapped = { workflow: 'workflow.json', inputs: { prompt: '/2/inputs/text', image: '/3/inputs/image' } }

describe('the fake answers a transcript of the real server alike:', () => {
  test.each(scenarios.map(({ name, steps }) => [name, steps] as const))('%s', async (name, steps) => {
    await using served = await serveFake(
      createFakeComfyui({
        polls: name === 'success' ? 1 : 9,
        ...(name === 'error while it runs' && { fails: 'no codec', polls: 1 }),
      }),
    )
    const id = 'b62406b4-7cff-4e79-b7ab-db8a62c318b7'
    const seen = new Map<string, unknown>()
    for (const { request, response } of steps) {
      if (!request || !response) continue
      // How long the real server took is not the fake's concern.
      const repeated = `${request.method} ${request.path}`
      const state = response.body['status']
      if (request.method === 'GET' && request.path.startsWith('/api/jobs/') && seen.get(repeated) === state) continue
      seen.set(repeated, state)
      const body = request.body ? JSON.stringify(request.body).replaceAll('{prompt_id}', id) : null
      const answer = await fetch(served.origin + request.path.replace('{prompt_id}', id), {
        method: request.method,
        ...(body !== null && { body }),
      })
      const json = (await answer.json()) as Record<string, unknown>
      expect.soft([repeated, answer.status]).toEqual([repeated, response.status])
      if (name !== 'cancel while it runs' && name !== 'the same id twice' && name !== 'cancel while it waits')
        expect.soft(json['status']).toEqual(state)
      for (const field of ['error', 'cancelled', 'prompt_id', 'node_errors'])
        expect.soft(typeof json[field]).toBe(typeof response.body[field])
    }
  })
})

test('the id of the run is ours and in every name of an output, so equal workflows share no files', async () => {
  const fake = createFakeComfyui()
  await using served = await serveFake(fake)
  await using engine = openRemote('comfyui')
  for (const jobId of ['job_1', 'job_2']) {
    await using run = await startKeptRun({ jobId })
    expect(await outcomeOf(engine.run(toSpec('comfyui', served.origin, mapped), run))).toHaveProperty('files')
  }
  const [first, second] = fake.entries
  expect(first?.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(first?.clientId).toBe(first?.id)
  expect(first?.prompt['9']?.inputs['filename_prefix']).toBe(`mediagen/${first?.id}`)
  expect(first?.prompt['2']?.inputs['text']).toBe('a boat')
  expect(second?.id).not.toBe(first?.id)
})

test('media are uploaded before anything is submitted, and named in the workflow', async () => {
  const fake = createFakeComfyui()
  await using served = await serveFake(fake)
  await using engine = openRemote('comfyui')
  await using run = await startKeptRun({ input: { prompt: 'x', image: 'https://a.test/1.png' } })
  const file = join(await run.folder(), 'in.png')
  await writeFile(file, 'picture')
  const given = { ...run, media: async () => new Map([['/image', file]]) }
  expect(await outcomeOf(engine.run(toSpec('comfyui', served.origin, mapped), given))).toHaveProperty('files')
  expect(fake.uploads).toEqual(['file:image/png:7'])
  expect(fake.entries[0]?.prompt['3']?.inputs['image']).toBe('mediagen/1.png')
  expect(served.requests().slice(0, 2)).toEqual(['POST /upload/image', 'POST /prompt'])
})

test('a failed run shows the exception’s message and no traceback', async () => {
  await using served = await serveFake(createFakeComfyui({ fails: 'no codec' }))
  await using engine = openRemote('comfyui')
  await using run = await startKeptRun()
  const outcome = await outcomeOf(engine.run(toSpec('comfyui', served.origin, mapped), run))
  expect(outcome).toMatchObject({ code: 'provider_failed', message: 'comfyui: SaveVideo: no codec' })
})

test('a refusal names the node’s complaint', async () => {
  await using served = await serveFake(createFakeComfyui())
  await using engine = openRemote('comfyui')
  await using run = await startKeptRun({ input: { prompt: 'x', width: 'wide' } })
  const spec = toSpec('comfyui', served.origin, { ...mapped, inputs: { width: '/1/inputs/width' } })
  const outcome = (await outcomeOf(engine.run(spec, run))) as Error
  expect(outcome.message).toContain('Failed to convert an input value to a INT value; width, wide')
})

test('the time of a run is its usage, in servers with and without /api/jobs', async () => {
  for (const old of [false, true]) {
    await using served = await serveFake(createFakeComfyui({ old }))
    await using engine = openRemote('comfyui')
    await using run = await startKeptRun()
    const outcome = await outcomeOf(engine.run(toSpec('comfyui', served.origin, mapped), run))
    expect(outcome).toMatchObject({ usage: { predict_time: 2.5 } })
  }
})

test('a server that restarted and forgot the run gets it again, under another id', async () => {
  const fake = createFakeComfyui()
  let asked = 0
  await using served = await serveFake(fake, ({ path }) => {
    if (path.startsWith('/api/jobs/') && (asked += 1) === 2) fake.restart()
    return null
  })
  await using engine = openRemote('comfyui')
  await using run = await startKeptRun()
  expect(await outcomeOf(engine.run(toSpec('comfyui', served.origin, mapped), run))).toHaveProperty('files')
  expect(run.verdicts()).toEqual({ 1: 'failed', 2: 'succeeded' })
})

test('a server that forgets every run gets it five times, and no more', async () => {
  const fake = createFakeComfyui()
  await using served = await serveFake(fake, ({ method }) => {
    if (method === 'GET') fake.restart()
    return null
  })
  await using engine = openRemote('comfyui')
  await using run = await startKeptRun()
  const outcome = await outcomeOf(engine.run(toSpec('comfyui', served.origin, mapped), run))
  expect(outcome).toMatchObject({ code: 'submission_lost', retryable: true })
  expect(Object.values(run.verdicts())).toEqual(Array.from({ length: 5 }, () => 'failed'))
})

test('cancel ends the run there, in servers with and without /api/jobs', async () => {
  for (const old of [false, true]) {
    const fake = createFakeComfyui({ polls: 99, old })
    await using served = await serveFake(fake, failing(/^$/))
    await using engine = openRemote('comfyui')
    const spec = toSpec('comfyui', served.origin, mapped)
    await using run = await startKeptRun()
    expect(await engine.cancel?.(spec, await abandonRun(engine, spec, run))).toMatchObject({
      n: 1,
      verdict: 'canceled',
    })
    expect(fake.entries.filter(({ status }) => status === 'in_progress')).toEqual([])
  }
})

test('a workflow with nodes that the server lacks is not ready and says which; others of the server are', async () => {
  await using served = await serveFake(createFakeComfyui())
  await using engine = openRemote('comfyui')
  const folder = await mkdtemp(join(tmpdir(), 'mediagen-workflow-'))
  const node = (type: string): object => ({ class_type: type, inputs: {} })
  const nodes = { 1: node('EmptyImage'), 2: node('KSampler (Efficient)'), 3: node('Ideas/Magic'), 4: node('SaveImage') }
  await writeFile(join(folder, 'custom.json'), JSON.stringify(nodes))
  const custom = { ...toSpec('comfyui', served.origin, { workflow: 'custom.json' }), base_folder: folder }
  expect(await engine.unready(toSpec('comfyui', served.origin, mapped))).toBeNull()
  expect(await engine.unready(custom)).toBe(
    'comfyui lacks nodes of the workflow custom.json: KSampler (Efficient), Ideas/Magic',
  )
  // A proxy that hides what there is leaves it to the run.
  served.faults = failing(/object_info/, ...Array.from({ length: 4 }, () => ({ status: 404, body: '' })))
  await using other = openRemote('comfyui')
  expect(await other.unready(custom)).toBeNull()
  await rm(folder, { recursive: true })
})
