// URLs in answers of a server that nobody told its public address.
import { createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import { pino } from 'pino'
import { afterAll, describe, expect, test } from 'vitest'
import { GenerationService } from '../../gen/mediagen/v1/generation_pb.ts'
import { startTestApp } from '../test-app.ts'
import { sendRaw } from './raw-http.ts'

const lines: { msg: string }[] = []
const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
const app = await startTestApp({ MEDIAGEN_HOST: '0.0.0.0' }, { log })
afterAll(() => app[Symbol.asyncDispose]())
// A gateway in front of it serves no files.
const { httpUrl } = app.app
const { port } = new URL(httpUrl)
const { job_id: jobId } = (await app.generate('test/instant/text-to-image', { prompt: 'x' }, { wait: true })).body

async function read(host: string, path = `/v1/jobs/${jobId}`) {
  return (await sendRaw(httpUrl, { path, headers: { host, authorization: `Bearer ${app.account.key}` } })).body
}

describe('a server on all addresses without MEDIAGEN_PUBLIC_URL', () => {
  test('warns', () => {
    expect(lines.map(({ msg }) => msg)).toContainEqual(expect.stringMatching(/^MEDIAGEN_PUBLIC_URL is not set/))
  })

  test('makes URLs of the host that a request was sent to', async () => {
    const { outputs: seen } = await read('media.example:8080')
    expect(seen[0].url).toMatch(/^http:\/\/media\.example:8080\/assets\//)
    expect((await read('other.example', '/v1/nothing')).type).toBe('http://other.example/problems/route_not_found')
  })

  test('serves them', async () => {
    const { outputs } = await read(`localhost:${port}`)
    expect(outputs[0].url).toContain(`http://localhost:${port}/assets/`)
    expect((await fetch(outputs[0].url)).status).toBe(200)
  })

  test('does so over Connect, too; over gRPC it names itself', async () => {
    const headers = { authorization: `Bearer ${app.account.key}` }
    const ask = async (transport: ReturnType<typeof createGrpcTransport>) =>
      (await createClient(GenerationService, transport).getJob({ jobId }, { headers })).job?.outputs[0]?.url
    const connect = createConnectTransport({ baseUrl: `http://localhost:${port}`, httpVersion: '1.1' })
    expect(await ask(connect)).toMatch(`http://localhost:${port}/assets/`)
    const grpc = createGrpcTransport({ baseUrl: app.app.grpcUrl ?? '' })
    expect(await ask(grpc)).toMatch(`http://127.0.0.1:${port}/assets/`)
  })
})

test('with MEDIAGEN_PUBLIC_URL no host changes a URL', async () => {
  await using named = await startTestApp({ MEDIAGEN_HOST: '0.0.0.0', MEDIAGEN_PUBLIC_URL: 'https://media.example' })
  const { body } = await named.generate('test/instant/text-to-image', { prompt: 'x' }, { wait: true })
  expect(body.outputs[0].url).toMatch(/^https:\/\/media\.example\/assets\//)
})

test('a server on one address names that, whatever host a request names', async () => {
  await using one = await startTestApp()
  const { body } = await sendRaw(one.url, { path: '/v1/nothing', headers: { host: 'media.example' } })
  expect(body.type).toBe(`${one.url}/problems/route_not_found`)
})
