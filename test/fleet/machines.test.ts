// Machines that share nothing but PostgreSQL and a store of files: two that start jobs, two that run them, and a gateway.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestAccount, openClient, openCommandLine, type Served } from '../cli/command-line.ts'
import { bucketName, type S3Server, startS3 } from '../files/blobs/s3-server.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../storage/postgres-server.ts'

const model = 'test/copy/image-to-image'
const picture = 'test/instant/text-to-image'
// A second and a key: few, so that those of two doors that do not share it differ however slow the machine is.
const rate = 10
const catalogs = ['../files/media/models.yaml', '../models/models.yaml'].map((file) => join(import.meta.dirname, file))

describe.skipIf(!hasPostgres)('a fleet', () => {
  let postgres: PostgresServer
  let s3: S3Server
  let folder: string
  beforeAll(async () => {
    ;[postgres, s3] = await Promise.all([startPostgres(), startS3()])
    folder = mkdtempSync(join(tmpdir(), 'mediagen-fleet-'))
  })
  afterAll(async () => {
    await postgres[Symbol.asyncDispose]()
    await s3[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  test('one starts, another runs; outputs of one are inputs of another; a killed worker is replaced; rates hold for all', async () => {
    await using line = openCommandLine({
      MEDIAGEN_DATABASE_URL: await postgres.createDatabase(),
      MEDIAGEN_FILES_URL: `s3://${bucketName}/fleet`,
      AWS_ENDPOINT_URL_S3: s3.endpoint,
      AWS_ACCESS_KEY_ID: 'S3RVER',
      AWS_SECRET_ACCESS_KEY: 'S3RVER',
      MEDIAGEN_CATALOG: catalogs.join(':'),
      MEDIAGEN_LEASE_SECONDS: '3',
      MEDIAGEN_RATE_LIMIT: String(rate),
    })
    await line.run(['migrate'])
    let machines = 0
    const serve = (roles: string): Promise<Served> =>
      line.serve({ MEDIAGEN_ROLES: roles, MEDIAGEN_DATA_DIR: join(folder, `machine-${(machines += 1)}`) })
    const [first, second, worker, other] = await Promise.all([
      serve('api'),
      serve('api'),
      serve('worker'),
      serve('worker'),
    ])
    const gateway = await line.serve({
      MEDIAGEN_CORE_URL: second.grpcUrl ?? '',
      MEDIAGEN_DATA_DIR: join(folder, 'gateway'),
    })
    const account = await createTestAccount(line)
    const [one, two, three] = [first, second, gateway].map(({ httpUrl }) => openClient(httpUrl, account.key))
    if (!one || !two || !three) throw new Error('three doors')

    // A picture asked for at one door, by a wait at that door, seen at every other.
    const { body: made } = await one.generate(picture, { prompt: 'a lighthouse' }, true)
    expect(made).toMatchObject({ status: 'succeeded' })
    for (const door of [two, three])
      expect((await door.send(`/v1/jobs/${made.job_id}`)).body).toMatchObject({ status: 'succeeded' })
    const { body: copied } = await three.generate(model, { image: made.outputs[0].url }, true)
    expect(copied.outputs[0]).toMatchObject({ sha256: made.outputs[0].sha256 })
    expect((await fetch(copied.outputs[0].url)).status).toBe(200)

    // The rate of the key is that of all doors together: its burst is spent once.
    const beganAt = performance.now()
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, index) => (index % 2 === 0 ? one : two).send('/v1/wallet')),
    )
    const accepted = answers.filter(({ status }) => status === 200).length
    const allowed = rate * (1 + (performance.now() - beganAt) / 1000)
    expect(accepted).toBeLessThan(1.5 * allowed)
    expect(answers.filter(({ status }) => status === 429).length).toBe(120 - accepted)

    // A worker dies with its jobs; the other one ends all of them.
    worker.process.kill('SIGKILL')
    await worker.ended
    const key = await createTestAccount(line)
    const client = openClient(first.httpUrl, key.key)
    const jobs = await Promise.all(
      Array.from({ length: 8 }, () => client.generate(picture, { prompt: 'a lighthouse' }, true)),
    )
    expect(jobs.map(({ body }) => body.status)).toEqual(jobs.map(() => 'succeeded'))
    for (const machine of [gateway, first, second, other]) expect(await machine.stop()).toMatchObject({ status: 0 })
    expect(await line.json(['admin', 'ledger', 'verify'])).toMatchObject({ accounts: 2, jobs: 10, problems: [] })
  })
})
