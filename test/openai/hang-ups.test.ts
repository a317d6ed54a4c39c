// What becomes of jobs whose client hangs up before its answer, with and without MEDIAGEN_OPENAI_CANCEL_ON_DISCONNECT: the table of
// docs/openai.md (P255, P268).
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { makeFolder, modelOf, writeCatalog } from '../faults/fixture.ts'
import { startTestApp, type TestAccount, type TestApp, testCatalog } from '../test-app.ts'

const path = '/v1/images/generations'
const folder = makeFolder()
const large = join(folder.path, 'large.png')
writeFileSync(large, drawLarge(2400))
const programs = writeCatalog(folder.path, [
  { name: 'large', script: `cp ${large} out.png` },
  { name: 'alone', script: 'until [ -e "$1/open" ]; do sleep 0.05; done; cp "$0" out.png' },
])
const { models } = JSON.parse(readFileSync(programs, 'utf8'))
models[1].engine.concurrency = 1
writeFileSync(programs, JSON.stringify({ models }))
const catalog = `${testCatalog}:${join(import.meta.dirname, '../models/openai.yaml')}:${programs}`
afterAll(() => folder[Symbol.dispose]())

/** A picture that is larger than what sockets hold. */
function drawLarge(side: number): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const named = Buffer.concat([Buffer.from(type), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(named))
    return Buffer.concat([length, named, sum])
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(side, 0)
  head.writeUInt32BE(side, 4)
  head.set([8, 2, 0, 0, 0], 8)
  const rows = deflateSync(Buffer.alloc(side * (1 + side * 3)), { level: 0 })
  const signature = Buffer.from('\u0089PNG\r\n\u001a\n', 'latin1')
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))])
}

/** Sends a request, and never reads its answer. @param sent how much of the body */
function send(
  app: TestApp,
  { key }: TestAccount,
  body: string,
  { sent = body.length, headers = [] }: { sent?: number; headers?: string[] } = {},
): Socket {
  const { hostname, port } = new URL(app.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${hostname}`,
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
  ]
  socket.pause().write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, sent)}`)
  return socket
}

describe.each([false, true])('cancel on disconnect: %s', async (cancels) => {
  const app = await startTestApp({
    MEDIAGEN_CATALOG: catalog,
    MEDIAGEN_OPENAI_MAX_CREDITS: '100',
    MEDIAGEN_OPENAI_CANCEL_ON_DISCONNECT: String(cancels),
  })
  afterAll(() => app[Symbol.asyncDispose]())

  async function createCase() {
    const account = await app.createAccount(1000)
    const read = async (what: string) => (await app.send(what, { key: account.key })).body
    const wallet = async () => {
      const { available, held } = await read('/v1/wallet')
      return { available, held }
    }
    const listJobs = async (): Promise<{ job_id: string; status: string }[]> => (await read('/v1/jobs')).data
    const gate = app.gate()
    const body = JSON.stringify({ model: 'test/openai/gate', prompt: 'x', ...gate.input })
    const ask = (headers: Record<string, string> = {}, sent = body) =>
      app.send(path, { key: account.key, headers, body: sent })
    return { account, wallet, listJobs, gate, body, ask }
  }
  const retry = { 'x-stainless-retry-count': '1' }

  test('before the request is whole: no job', async () => {
    const { account, wallet, listJobs, gate, body, ask } = await createCase()
    const socket = send(app, account, body, { sent: 10 })
    await new Promise((resolve) => socket.once('connect', resolve))
    socket.destroy()
    gate.open()
    expect((await ask()).status).toBe(200)
    expect(await listJobs()).toHaveLength(1)
    expect(await wallet()).toEqual({ available: 990, held: 0 })
  })

  test.each(['queued', 'running'])('while the job is %s', async (status) => {
    const { account, wallet, listJobs, ask } = await createCase()
    rmSync(join(folder.path, 'open'), { force: true })
    if (status === 'queued') await app.generate(modelOf('alone'), {}, { wait: false })
    const body = JSON.stringify({ model: modelOf('alone') })
    const socket = send(app, account, body)
    await expect.poll(listJobs).toMatchObject([{ status }])
    socket.destroy()
    if (cancels) {
      await expect.poll(listJobs).toMatchObject([{ status: 'canceled' }])
      expect(await wallet()).toEqual({ available: 1000, held: 0 })
    }
    writeFileSync(join(folder.path, 'open'), '')
    expect((await ask(retry, body)).status).toBe(200)
    const expected = cancels ? ['succeeded', 'canceled'] : ['succeeded']
    expect((await listJobs()).map((job) => job.status)).toEqual(expected)
    expect(await wallet()).toEqual({ available: 990, held: 0 })
  })

  test('after the end, before all bytes were sent: an equal request gets the picture, and is not charged', async () => {
    const { account, wallet, listJobs, ask } = await createCase()
    const body = JSON.stringify({ model: modelOf('large') })
    const socket = send(app, account, body)
    await expect.poll(listJobs).toMatchObject([{ status: 'succeeded' }])
    socket.destroy()
    const { status, headers } = await ask(retry, body)
    expect([status, headers.get('mediagen-job')]).toEqual([200, (await listJobs())[0]?.job_id])
    expect(await listJobs()).toHaveLength(1)
    expect(await wallet()).toEqual({ available: 990, held: 0 })
  })

  test('a job that another request waits for goes on', async () => {
    const { account, wallet, listJobs, gate, body, ask } = await createCase()
    const socket = send(app, account, body)
    await gate.begun()
    const joined = ask(retry)
    await expect.poll(() => openWaits(app)).toBe(2)
    socket.destroy()
    await expect.poll(() => openWaits(app)).toBe(1)
    gate.open()
    expect((await joined).status).toBe(200)
    expect(await listJobs()).toMatchObject([{ status: 'succeeded' }])
    expect(await wallet()).toEqual({ available: 990, held: 0 })
  })

  test('a job that has an Idempotency-Key goes on', async () => {
    const { account, listJobs, gate, body, ask } = await createCase()
    const socket = send(app, account, body, { headers: ['Idempotency-Key: k1'] })
    await gate.begun()
    socket.destroy()
    await expect.poll(() => openWaits(app)).toBe(0)
    gate.open()
    expect((await ask({ 'idempotency-key': 'k1' })).status).toBe(200)
    expect(await listJobs()).toMatchObject([{ status: 'succeeded' }])
  })
})

/** How many requests wait for a job. */
async function openWaits(app: TestApp): Promise<number> {
  const metrics = (await app.send('/metrics', { key: null })).body as string
  return Number(/^mediagen_waits_open(?:\{.*\})? (\d+)$/m.exec(metrics)?.[1])
}
