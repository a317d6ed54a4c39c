// `mediagen move`: an installation goes from SQLite and the disk to PostgreSQL and S3, works on there, and comes back.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bucketName, type S3Server, startS3 } from '../files/blobs/s3-server.ts'
import { hasPostgres, type PostgresServer, runSql, startPostgres } from '../storage/postgres-server.ts'
import { createTestAccount, openClient, openCommandLine } from './command-line.ts'

test('what is missing or in the way is said, and nothing is written', async () => {
  await using line = openCommandLine()
  const said = async (...args: string[]) => (await line.run(['move', ...args])).stderr
  expect(await said()).toBe('mediagen: Say where to: --to-database, --to-files or both.\n')
  expect(await said('--to-files', 's3:/x')).toMatch(/^mediagen: --to-files must be `s3:\/\/bucket`/)
  const target = join(line.folder, 'new')
  expect(await said('--to-database', target)).toMatch(/^mediagen: There is no database /)
  expect(existsSync(target)).toBe(false)
  expect(existsSync(line.dataDir)).toBe(false)

  await line.json(['migrate'])
  expect(await said('--to-database', line.dataDir)).toMatch(/There is a database .* already; move to another folder/)
  const server = await line.serve()
  expect(await said('--to-database', target)).toBe(
    'mediagen: A server works on this installation; stop all of its servers first.\n',
  )
  await server.stop()
})

describe.skipIf(!hasPostgres)('to PostgreSQL and S3', () => {
  let postgres: PostgresServer
  let s3: S3Server
  beforeAll(async () => {
    ;[postgres, s3] = await Promise.all([startPostgres(), startS3()])
  })
  afterAll(async () => {
    await postgres[Symbol.asyncDispose]()
    await s3[Symbol.asyncDispose]()
  })

  test('and back: accounts, keys, money, jobs and files are there, and new jobs run', async () => {
    const aws = {
      AWS_ENDPOINT_URL_S3: s3.endpoint,
      AWS_ACCESS_KEY_ID: 'S3RVER',
      AWS_SECRET_ACCESS_KEY: 'S3RVER',
    }
    await using line = openCommandLine(aws)
    const url = await postgres.createDatabase()
    const there = { MEDIAGEN_DATABASE_URL: url, MEDIAGEN_FILES_URL: `s3://${bucketName}/moved` }
    const generate = async (httpUrl: string, key: string) =>
      (await openClient(httpUrl, key).generate('test/instant/text-to-image', { prompt: 'a lighthouse' }, true)).body

    const first = await line.serve()
    const account = await createTestAccount(line)
    const grant = (reference: string, environment = {}) => {
      const args = [
        'admin',
        'credits',
        'grant',
        '--account',
        account.accountId,
        '--credits',
        '5',
        '--reference',
        reference,
      ]
      return line.json(args, environment)
    }
    expect(await grant('in_1')).toMatchObject({ replayed: false })
    const job = await generate(first.httpUrl, account.key)
    expect(job.outputs).toHaveLength(1)
    const content = Buffer.from(await (await fetch(job.outputs[0].url)).arrayBuffer())
    await first.stop()

    expect(await line.json(['move', '--to-database', url, '--to-files', there.MEDIAGEN_FILES_URL])).toMatchObject({
      accounts: 1,
      jobs: 1,
      files: job.outputs[0].preview_url === null ? 1 : 2,
    })
    expect(readdirSync(join(line.dataDir, 'assets'))).toEqual([job.job_id])

    const second = await line.serve(there)
    const { body: moved } = await openClient(second.httpUrl, account.key).send(`/v1/jobs/${job.job_id}`)
    expect(moved).toMatchObject({ status: 'succeeded', input: job.input, billing: job.billing })
    expect(Buffer.from(await (await fetch(moved.outputs[0].url)).arrayBuffer()).equals(content)).toBe(true)
    const next = await generate(second.httpUrl, account.key)
    const { stderr } = await line.run(['move', '--to-files', join(line.folder, 'copy')], there)
    expect(stderr).toBe('mediagen: A server works on this installation; stop all of its servers first.\n')
    await second.stop()
    expect(await runSql(url, "SELECT count(*)::int AS jobs FROM jobs WHERE status = 'succeeded'")).toEqual([
      { jobs: 2 },
    ])

    expect(await grant('in_1', there)).toMatchObject({ replayed: true })
    expect(await grant('in_2', there)).toMatchObject({ replayed: false })
    const root = await line.json(['admin', 'ledger', 'verify'], there)
    expect(root).toMatchObject({ jobs: 2, problems: [] })

    const home = join(line.folder, 'home')
    await line.json(['move', '--to-database', home, '--to-files', home], there)
    const third = await line.serve({ MEDIAGEN_DATA_DIR: home })
    for (const { job_id: jobId } of [job, next]) {
      const { body } = await openClient(third.httpUrl, account.key).send(`/v1/jobs/${jobId}`)
      expect((await fetch(body.outputs[0].url)).status).toBe(200)
    }
    await third.stop()
    expect(await line.json(['admin', 'ledger', 'verify'], { MEDIAGEN_DATA_DIR: home })).toEqual(root)
    expect(await grant('in_2', { MEDIAGEN_DATA_DIR: home })).toMatchObject({ replayed: true })
  })

  test('a store of files that takes nothing leaves the database empty, and the same command goes on later', async () => {
    await using line = openCommandLine({
      AWS_ENDPOINT_URL_S3: s3.endpoint,
      AWS_ACCESS_KEY_ID: 'S3RVER',
      AWS_SECRET_ACCESS_KEY: 'S3RVER',
    })
    const url = await postgres.createDatabase()
    const first = await line.serve()
    const account = await createTestAccount(line)
    await openClient(first.httpUrl, account.key).generate('test/instant/text-to-image', { prompt: 'x' }, true)
    await first.stop()
    const move = (bucket: string) => line.run(['move', '--to-database', url, '--to-files', `s3://${bucket}/later`])
    expect((await move('another')).stderr).toMatch(/404 NoSuchBucket/)
    expect(await runSql(url, 'SELECT 1 FROM accounts')).toEqual([])
    expect((await move(bucketName)).status).toBe(0)
    expect(await runSql(url, 'SELECT count(*)::int AS accounts FROM accounts')).toEqual([{ accounts: 1 }])
  })
})
