// A file that a provider made reaches the client byte for byte, wherever it is stored and whatever was done with it since (P355).
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bucketName, type S3Server, startS3 } from '../files/blobs/s3-server.ts'
import { signedPng } from '../files/provenance/fixture.ts'
import { createTestAccount, openClient, openCommandLine } from './command-line.ts'

const sha256 = createHash('sha256').update(signedPng).digest('hex')
const provider = createServer((request, response) => {
  request.resume().on('end', () => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ created: 1, data: [{ b64_json: signedPng.toString('base64') }] }))
  })
})
let s3: S3Server
let aws: Record<string, string>

beforeAll(async () => {
  s3 = await startS3()
  aws = { AWS_ENDPOINT_URL_S3: s3.endpoint, AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' }
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  provider.close()
  await s3[Symbol.asyncDispose]()
})

test('P355: it is served as it came from disk and S3, after a move, a backup and a restore', async () => {
  await using line = openCommandLine(aws)
  const catalog = join(line.folder, 'catalog.json')
  const input = { type: 'object', required: ['prompt'], properties: { prompt: { type: 'string' } } }
  const entry = {
    id: 'test/painter',
    name: 'Painter',
    description: 'Signs.',
    category: 'text-to-image',
    modality: 'image',
  }
  const engine = { kind: 'openai', provider: 'painter', task: 'image', model: 'painter-2' }
  writeFileSync(
    catalog,
    JSON.stringify({
      providers: {
        painter: { kind: 'openai', base_url: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1` },
      },
      models: [{ ...entry, owned_by: 'tests', created: '2026-11-01', price: { credits: 1 }, engine, input }],
    }),
  )
  const settings = { MEDIAGEN_CATALOG: catalog }
  const first = await line.serve(settings)
  const { key } = await createTestAccount(line)
  const made = (await openClient(first.httpUrl, key).generate('test/painter', { prompt: 'x' }, true)).body
  await first.stop()

  /** The job as a server with these settings has it, with its file. */
  async function read(env: Record<string, string>) {
    const server = await line.serve({ ...settings, ...env })
    const { outputs } = (await openClient(server.httpUrl, key).send(`/v1/jobs/${made.job_id}`)).body
    const served = Buffer.from(await (await fetch(outputs[0].url)).arrayBuffer())
    await server.stop()
    return { said: outputs[0].sha256, served: createHash('sha256').update(served).digest('hex') }
  }
  const asItCame = { said: sha256, served: sha256 }
  expect(await read({})).toEqual(asItCame)

  /** The same in an installation that was restored from a backup. */
  async function restore(name: string, env: Record<string, string>) {
    const folder = join(line.folder, `backup-${name}`)
    await line.json(['backup', folder], env)
    const restored = { ...env, MEDIAGEN_DATA_DIR: join(line.folder, name) }
    const { stderr, status } = await line.run(['restore', folder, '--json'], restored)
    expect([status, stderr]).toEqual([0, ''])
    return read(restored)
  }
  expect(await restore('on-disk', {})).toEqual(asItCame)

  const moved = { MEDIAGEN_FILES_URL: `s3://${bucketName}/moved` }
  await line.json(['move', '--to-files', moved.MEDIAGEN_FILES_URL])
  expect(await read(moved)).toEqual(asItCame)
  expect(await restore('in-s3', moved)).toEqual(asItCame)
})
