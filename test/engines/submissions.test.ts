// What providers tell of a submission at the address that they were given: at the core, and at a gateway in front of it.
import { expect, test } from 'vitest'
import { startApp } from '../../src/app/start.ts'
import { readConfig } from '../../src/config.ts'
import { keepLog } from '../kept-log.ts'
import { openRawClient, toField, toFrame } from '../rpc/raw-grpc.ts'
import { startServer } from './remote-fixture.ts'
import { failing, serveFake } from './remote/fakes/fake.ts'
import { createFakeFal } from './remote/fakes/fal.ts'
import { type KindCase, kindCases } from './remote/kinds.ts'

const fal = kindCases.find(({ kind }) => kind === 'fal') as KindCase
const publicUrl = 'https://media.test'

async function startGateway(coreUrl: string | null) {
  if (coreUrl === null) throw new Error('the server has no gRPC port')
  return startApp(readConfig({ MEDIAGEN_HTTP_PORT: '0', MEDIAGEN_CORE_URL: coreUrl }), { log: keepLog().log })
}

test.each(['the core', 'a gateway'] as const)(
  'fal tells %s of a submission whose answer was lost, at the address that it was given alone',
  async (where) => {
    const fake = createFakeFal()
    await using served = await serveFake(fake, failing(/^POST/, 'cut after'))
    await using server = await startServer({ fal: fal.toSpec(served.origin) }, {}, { MEDIAGEN_PUBLIC_URL: publicUrl })
    const { app } = server
    await using door = where === 'a gateway' ? await startGateway(app.app.grpcUrl) : null
    const making = app.generate('test/fal', { prompt: 'x' })
    await expect.poll(() => fake.queue.length).toBe(1)
    const [{ id, webhook } = { id: '', webhook: '' }] = fake.queue
    const { origin, pathname } = new URL(webhook ?? '')
    expect(origin).toBe(publicUrl)
    const tell = async (path: string, body: object) =>
      fetch((door?.httpUrl ?? app.url) + path, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      })
    const statusOf = async (path: string, body: object = { request_id: id }): Promise<number> =>
      (await tell(path, body)).status
    expect(await statusOf(pathname.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')))).toBe(404)
    for (const n of ['2', '0', '01', '1e0', '9999999999'])
      expect(await statusOf(pathname.replace('/1/', `/${n}/`))).toBe(404)
    expect(await statusOf(`${pathname}${'A'.repeat(200)}`)).toBe(404)
    // Whoever does not know the address is refused before anything is read.
    expect(await statusOf('/submissions/fal/job_x/1/guess', { request_id: 'x'.repeat(4_000_000) })).toBe(404)
    expect(await statusOf(pathname, { request_id: 'x'.repeat(4_000_000) })).toBe(413)
    expect(await statusOf(pathname, { request_id: 'x'.repeat(256) })).toBe(204)
    expect(await statusOf(pathname, { request_id: 7 })).toBe(204)
    expect(await statusOf(pathname)).toBe(204)
    expect((await making).body).toMatchObject({ status: 'succeeded', credits: 7 })
    expect(fake.queue).toHaveLength(1)
  },
)

test('the gRPC port reads no more of what a gateway passes on than MEDIAGEN_MAX_OPEN_REQUEST_BYTES', async () => {
  const settings = { MEDIAGEN_MAX_OPEN_REQUEST_BYTES: '1024' }
  await using server = await startServer({ fal: fal.toSpec('http://127.0.0.1:9') }, {}, settings)
  using client = await openRawClient(server.app.app.grpcUrl)
  const tell = (token: string) => {
    const body = toFrame(Buffer.concat([toField(1, 'fal'), toField(2, 'job_x'), toField(4, token)]))
    return client.call('/mediagen.v1.SubmissionsService/TellSubmission', { body })
  }
  const { status: taken } = await tell('guess').ended
  expect(taken).toBe(0)
  const { status: refused } = await tell('x'.repeat(2000)).ended
  expect(refused).toBe(8)
})

test('a gateway whose core cannot be reached asks to be told again', async () => {
  await using door = await startGateway('http://127.0.0.1:9')
  const { status } = await fetch(`${door.httpUrl}/submissions/fal/job_x/1/guess`, { method: 'POST' })
  expect(status).toBe(503)
})
