// What a server and `mediagen doctor` say of a certificate that cannot sign, and what a job's record says of its outputs.
import { createHash, generateKeyPairSync } from 'node:crypto'
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { GenerationService } from '../../gen/mediagen/v1/generation_pb.ts'
import { examine } from '../../src/app/operator/health/doctor.ts'
import { fixture, makePicture, signedPng } from '../files/provenance/fixture.ts'
import { startTestApp } from '../test-app.ts'

let folder: string
let key: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mediagen-signing-'))
  key = join(folder, 'key.pem')
  copyFileSync(fixture('key.pem'), key)
  chmodSync(key, 0o600)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const certificate = fixture('certificate.pem')
const catalog = join(import.meta.dirname, '../files/media/models.yaml')

test('P360: a certificate or a key that cannot sign stops the start by name, and the doctor says the same', async () => {
  const open = join(folder, 'open.pem')
  copyFileSync(fixture('key.pem'), open)
  chmodSync(open, 0o644)
  const other = join(folder, 'other.pem')
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  writeFileSync(other, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  const missing = join(folder, 'missing.pem')
  const cases: [string, string, RegExp, RegExp][] = [
    ['', '', /MEDIAGEN_SIGN_FAILURE is review, and nothing is signed/, /^unset MEDIAGEN_SIGN_FAILURE$/],
    [certificate, '', /MEDIAGEN_SIGN_CERTIFICATE and MEDIAGEN_SIGN_KEY must both be set/, /^openssl x509 -in /],
    [missing, key, /missing\.pem \(MEDIAGEN_SIGN_CERTIFICATE\) cannot be read/, /^openssl x509 -in /],
    [key, key, /key\.pem \(MEDIAGEN_SIGN_CERTIFICATE\) has none in PEM/, /^openssl x509 -in /],
    [certificate, certificate, /certificate\.pem \(MEDIAGEN_SIGN_KEY\) has none in PEM/, /^openssl x509 -in /],
    [certificate, open, /Other users may read .*open\.pem \(MEDIAGEN_SIGN_KEY\): chmod o= /, /^chmod o= .*open\.pem$/],
    [certificate, other, /does not belong to the key .*other\.pem/, /^openssl x509 -in /],
    [fixture('expired.pem'), key, /is valid from 2024-01-01 to 2025-01-01 only/, /^openssl x509 -in /],
    [
      fixture('wrong.pem'),
      key,
      /wrong\.pem \(MEDIAGEN_SIGN_CERTIFICATE\): the certificate is invalid/,
      /^openssl x509 -in /,
    ],
  ]
  // What does not run jobs has no key to sign with.
  await using api = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_SIGN_FAILURE: 'review' })
  expect((await fetch(`${api.url}/readyz`)).status).toBe(200)
  for (const [signCertificate, signKey, words, command] of cases) {
    const settings = {
      MEDIAGEN_SIGN_CERTIFICATE: signCertificate,
      MEDIAGEN_SIGN_KEY: signKey,
      MEDIAGEN_SIGN_FAILURE: 'review',
    }
    await expect.soft(startTestApp(settings)).rejects.toThrow(words)
    const env = { ...settings, MEDIAGEN_DATA_DIR: join(folder, 'data') }
    const findings = await examine(env, { files: false, network: false })
    expect
      .soft(findings.filter(({ check }) => check === 'signing'))
      .toEqual([{ check: 'signing', problem: expect.stringMatching(words), command: expect.stringMatching(command) }])
  }
})

test('P353: a record says over REST and over gRPC what its file says', async () => {
  await using app = await startTestApp({ MEDIAGEN_CATALOG: catalog })
  const image = `data:image/png;base64,${signedPng.toString('base64')}`
  const { body } = await app.generate('test/copy/image-to-image', { image })
  const said = {
    signed: true,
    verified: true,
    issuer: 'Example Provider',
    generator: 'Example Painter',
    actions: ['c2pa.created'],
    source_type: 'trainedAlgorithmicMedia',
    problem: null,
  }
  expect(body.outputs).toMatchObject([{ provenance: said }])
  expect((await app.send(`/v1/jobs/${body.job_id}`)).body.outputs).toMatchObject([{ provenance: said }])
  const generation = createClient(GenerationService, createGrpcTransport({ baseUrl: app.app.grpcUrl ?? '' }))
  const headers = { authorization: `Bearer ${app.account.key}` }
  const { job } = await generation.getJob({ jobId: body.job_id }, { headers })
  const { source_type: sourceType, problem: _, ...same } = said
  expect(job?.outputs).toMatchObject([{ provenance: { ...same, sourceType } }])
  expect(job?.outputs[0]?.provenance?.problem).toBeUndefined()
})

test('P356, P380: a server signs what its models make, and holds what it cannot sign if it is told so', async () => {
  const models = join(folder, 'models.yaml')
  const program = join(import.meta.dirname, '../files/media/copy.js')
  const written = readFileSync(catalog, 'utf8')
    .replace('    modality: image\n', '$&    source_type: trainedAlgorithmicMedia\n')
    .replace('copy.js', program)
  writeFileSync(models, written)
  await using app = await startTestApp({
    MEDIAGEN_CATALOG: models,
    MEDIAGEN_SIGN_CERTIFICATE: certificate,
    MEDIAGEN_SIGN_KEY: key,
    MEDIAGEN_SIGN_FAILURE: 'review',
  })
  const image = `data:image/png;base64,${(await makePicture()).toString('base64')}`
  const { body } = await app.generate('test/copy/image-to-image', { image })
  expect(body).toMatchObject({ status: 'succeeded', billing: { charged: 7, released: 0 } })
  const [{ url, sha256, provenance }] = body.outputs
  expect(provenance).toEqual({
    signed: true,
    verified: true,
    issuer: 'Acme Studio',
    generator: 'mediagen',
    actions: ['c2pa.created'],
    source_type: 'compositeWithTrainedAlgorithmicMedia',
    problem: null,
  })
  const served = Buffer.from(await (await fetch(url)).arrayBuffer())
  expect(createHash('sha256').update(served).digest('hex')).toBe(sha256)

  const tiff = `data:image/tiff;base64,${(await makePicture('tiff')).toString('base64')}`
  const { body: unsigned } = await app.generate('test/copy/image-to-image', { image: tiff })
  expect(unsigned).toMatchObject({
    status: 'needs_review',
    outputs: [],
    error: { code: 'output_unsigned', message: expect.stringContaining('Its price is 7 credits.') },
    billing: { held: 7, charged: 0, released: 0 },
  })
})
