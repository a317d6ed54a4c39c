// ComfyUI's WebSocket brings progress and drafts, and nothing that goes wrong with it harms a run.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { watchRun } from '../../../src/engines/remote/backends/comfyui-watch.ts'
import { createFakeComfyui, toPicture } from './fakes/comfyui.ts'
import { failing, type Fault, serveFake, tinyPng } from './fakes/fake.ts'
import { type FakeSocket, toFrame } from './fakes/socket.ts'
import { openRemote, outcomeOf, startKeptRun, toSpec } from './remote-run.ts'

const secrets = { KEY: 'sk-very-secret-0123456789' }

// Real connections take real time; polls come as often as they can.
const realTime = { nowMs: Date.now, pause: (_ms: number, signal: AbortSignal) => sleep(5, undefined, { signal }) }

/** A run that goes on until the fake is told to finish it, and what it showed. */
async function start(options: Parameters<typeof createFakeComfyui>[0] = {}, fault: Fault | null = null) {
  const fake = createFakeComfyui({ polls: Infinity, ...options })
  const served = await serveFake(fake, fault === null ? undefined : ({ path }) => (path === '/ws' ? fault : null))
  const engine = openRemote('comfyui', secrets, realTime)
  const spec = toSpec('comfyui', served.origin, { workflow: 'workflow.json' }, { token_env: 'KEY' })
  const progress: number[] = []
  const drafts: Buffer[] = []
  async function begin(checkpoint: Parameters<typeof startKeptRun>[0] = {}) {
    const run = await startKeptRun(checkpoint)
    const running = engine.run(spec, {
      ...run,
      onProgress: (fraction) => void progress.push(fraction),
      preview(file) {
        const read = run.folder().then((folder) => readFile(join(folder, file)))
        // The run may end, and its folder go, before the draft is read.
        read.then(
          (draft) => drafts.push(draft),
          () => {},
        )
      },
    })
    return { run, outcome: outcomeOf(running) }
  }
  return {
    fake,
    served,
    begin,
    progress,
    drafts,
    async [Symbol.asyncDispose]() {
      await engine.close()
      await served[Symbol.asyncDispose]()
    },
  }
}

test('a run has the progress of its nodes and drafts while it lasts, and ends as its history says', async () => {
  await using remote = await start()
  const { run, outcome } = await remote.begin()
  await using _ = run
  const client = await remote.fake.nextClient()
  await expect.poll(() => remote.drafts.length).toBeGreaterThan(0)
  await expect.poll(() => Math.max(...remote.progress)).toBe(0.99)
  // Only the end is the end.
  client.send({ type: 'execution_success', data: { prompt_id: client.id } })
  client.send({ type: 'executing', data: { node: null, prompt_id: client.id } })
  remote.fake.finish()
  expect(await outcome).toMatchObject({ files: ['output-0'] })
  await client.ended
  expect(client.id).toBe(remote.fake.entries[0]?.id)
  expect(remote.drafts[0]).toEqual(tinyPng)
  expect(remote.progress).toContain(0.25)
  expect(await readdir(await run.folder())).toEqual(['output-0'])
  const handshake = remote.served.log.find(({ path }) => path === '/ws')
  expect(handshake?.headers['authorization']).toBe(`Bearer ${secrets.KEY}`)
})

test('nodes whose results the server had already count as done', async () => {
  await using remote = await start({ quiet: true })
  const { run, outcome } = await remote.begin()
  await using _ = run
  const { id, ...client } = await remote.fake.nextClient()
  client.send({ type: 'execution_cached', data: { nodes: ['1', '2'], prompt_id: id } })
  client.send({ type: 'progress_state', data: { prompt_id: id, nodes: { 3: { value: 5, max: 10 } } } })
  await expect.poll(() => remote.progress).toContain(2.5 / 4)
  remote.fake.finish()
  await outcome
})

const refusals: readonly Fault[] = [
  { status: 403 },
  { status: 200 },
  { status: 302, headers: { location: 'http://127.0.0.1:1/steal' } },
  { status: 101, headers: { upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-accept': 'no' } },
  'cut before',
]

test.each(refusals)('a socket that is refused with %j is tried again, and the run ends by polling', async (fault) => {
  await using remote = await start({}, fault)
  const { run, outcome } = await remote.begin()
  await using _ = run
  await expect.poll(() => remote.served.requests().filter((one) => one === 'GET /ws').length).toBeGreaterThan(2)
  remote.fake.finish()
  expect(await outcome).toMatchObject({ files: ['output-0'] })
  expect([remote.progress, remote.drafts]).toEqual([[], []])
})

const zeros = Buffer.alloc(1_000_000)
const troubles: Record<string, (client: FakeSocket) => void> = {
  'is cut in a frame': (client) => {
    client.sendRaw(toFrame('text', Buffer.from('{"type":'), 100))
    client.cut()
  },
  'announces a frame of five megabytes': (client) => client.sendRaw(toFrame('binary', zeros, 5_000_000)),
  'announces a frame of 2^63 bytes': (client) => client.sendRaw(toFrame('binary', zeros, Number.MAX_SAFE_INTEGER)),
  'floods with frames that are just small enough': (client) => {
    for (let sent = 0; sent < 40; sent++) client.send(Buffer.concat(Array.from({ length: 4 }, () => zeros)))
  },
  'floods with small messages': (client) => {
    for (let sent = 0; sent < 30_000; sent++) client.send({ type: 'status' })
  },
  'floods with pings': (client) => client.sendRaw(Buffer.alloc(4_000_000, Buffer.from([0x89, 0]))),
  'sends text that is no JSON': (client) => client.sendText('<!doctype html>'),
  'sends JSON of another shape': (client) => {
    for (const message of [[], { type: 3 }, { type: 'progress_state', data: { nodes: 'all' } }]) client.send(message)
    client.send(toFrame('binary', Buffer.from('xy')))
    client.cut()
  },
  'sends a picture whose words are cut': (client) => client.send(toPicture({ prompt_id: 'x' }).subarray(0, 20)),
  'sends a picture that is none': (client) => {
    client.send(Buffer.concat([toPicture({}).subarray(0, 4), Buffer.from([0, 0, 0, 2]), Buffer.from('{}<html>')]))
    client.cut()
  },
  'sends bytes that are no frames': (client) => client.sendRaw(Buffer.from('HTTP/1.1 500 Oops\r\n\r\n')),
  'sends text that is no UTF-8': (client) => client.sendRaw(toFrame('text', Buffer.from([0xc3, 0x28]))),
}

test.each(Object.entries(troubles))('a server that %s is heard anew, and harms nothing', async (_, cause) => {
  await using remote = await start()
  const { run, outcome } = await remote.begin()
  await using _run = run
  const client = await remote.fake.nextClient()
  cause(client)
  await client.ended
  const next = await remote.fake.nextClient()
  expect(next.id).toBe(client.id)
  remote.fake.finish()
  expect(await outcome).toMatchObject({ files: ['output-0'] })
  expect(run.verdicts()).toEqual({ 1: 'succeeded' })
  expect(remote.fake.entries).toHaveLength(1)
})

test('a server that says nothing, and does not answer when the connection is closed, holds nothing up', async () => {
  const silent = createFakeComfyui()
  const accepted = Promise.withResolvers<FakeSocket>()
  await using served = await serveFake(
    { answer: (request) => silent.answer(request), socket: (_request, socket) => accepted.resolve(socket) },
    failing(/^GET \/api\/jobs/, ...Array.from({ length: 20 }, () => ({ status: 503 }))),
  )
  await using engine = openRemote('comfyui', {}, realTime)
  await using run = await startKeptRun()
  const spec = toSpec('comfyui', served.origin, { workflow: 'workflow.json' })
  expect(await outcomeOf(engine.run(spec, run))).toMatchObject({ files: ['output-0'] })
  await (
    await accepted.promise
  ).ended
})

test.each([true, false])('pictures of other runs are not shown, if the server names them: %s', async (names) => {
  await using remote = await start({ names, quiet: true })
  const { run, outcome } = await remote.begin()
  await using _ = run
  const { id, ...client } = await remote.fake.nextClient()
  const own = { prompt_id: id }
  // A run that was submitted without a client is told to everyone.
  const foreign = { prompt_id: 'b62406b4-7cff-4e79-b7ab-db8a62c318b7' }
  const secret = Buffer.concat([tinyPng, Buffer.from('secret')])
  client.send({ type: 'progress_state', data: { ...foreign, nodes: { 1: { value: 1, max: 1 } } } })
  client.send(toPicture(foreign, secret))
  client.send(toPicture(null, secret))
  client.send({ type: 'progress_state', data: { ...own, nodes: { 9: { value: 7, max: 10 } } } })
  // Not even right after an event of this run, if its pictures say whose they are.
  if (names) client.send(toPicture(null, secret))
  client.send(toPicture(names ? own : null, Buffer.from('<!doctype html>')))
  client.send(toPicture(names ? own : null))
  await expect.poll(() => remote.drafts).toEqual([tinyPng])
  expect(remote.progress).toEqual([0.7 / 4])
  remote.fake.finish()
  await outcome
})

test('a run that another process takes over is heard under the same name', async () => {
  await using remote = await start()
  const first = await remote.begin()
  await using _first = first.run
  const client = await remote.fake.nextClient()
  first.run.abort.abort('stopping')
  await first.outcome
  await client.ended
  const told = remote.progress.length
  const { run, outcome } = await remote.begin({ checkpoint: first.run.saved.at(-1) ?? null })
  await using _ = run
  expect((await remote.fake.nextClient()).id).toBe(client.id)
  await expect.poll(() => remote.progress.length).toBeGreaterThan(told)
  remote.fake.finish()
  expect(await outcome).toMatchObject({ files: ['output-0'] })
})

test('long messages are left out or sampled, and connections that end again and again are opened less and less', async () => {
  const asked: number[] = []
  const listeners: { isClosed: boolean; onMessage: (message: string | Buffer) => void }[] = []
  const connection = {
    listen(_at: string, { onMessage }: { onMessage: (message: string | Buffer) => void }) {
      listeners.push({ isClosed: false, onMessage })
      return Object.assign(listeners.at(-1) ?? {}, { close: () => {} })
    },
  } as unknown as Parameters<typeof watchRun>[0]
  const progress: number[] = []
  const run = {
    folder: async () => '',
    preview: () => {},
    onProgress: (fraction: number) => void progress.push(fraction),
  }
  await using watch = watchRun(connection, { id: 'r1' }, 4, run)
  for (let look = 0; look < 100; look++) {
    watch.renew()
    const last = listeners.at(-1)
    if (last && !last.isClosed) asked.push(look)
    if (last) last.isClosed = true
  }
  expect(asked).toEqual([0, 1, 3, 6, 11, 20, 37, 70])
  const tell = (nodes: object, filler: string): void =>
    listeners.at(-1)?.onMessage(JSON.stringify({ type: 'progress_state', data: { prompt_id: 'r1', nodes, filler } }))
  tell({ 1: { value: 1, max: 1 } }, 'x'.repeat(300_000))
  expect(progress).toEqual([])
  tell({ 1: { value: 1, max: 1 } }, 'x'.repeat(5000))
  tell({ 1: { value: 1, max: 1 }, 2: { value: 1, max: 1 } }, 'x'.repeat(5000))
  expect(progress).toEqual([0.25])
})
