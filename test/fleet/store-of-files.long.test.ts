// A fleet under load, whose store of files fails in every way while jobs store outputs and clients upload and download.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createS3Blobs } from '../../src/files/blobs/s3.ts'
import { openClient } from '../cli/command-line.ts'
import {
  bucketName,
  type Fault,
  type Line,
  type S3Server,
  startLine,
  startS3,
  toBucket,
} from '../files/blobs/s3-server.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../storage/postgres-server.ts'
import { startFleet } from './fleet.ts'
import { startLoad } from './load.ts'

const picture = readFileSync(join(import.meta.dirname, '../models/picture.png'))
const catalogs = ['../files/media/models.yaml', '../models/models.yaml'].map((file) => join(import.meta.dirname, file))
const copyModel = 'test/copy/image-to-image'
const copyCredits = 7
const paceMs = 200

/** What the store does for how long; `nth` counts its requests. */
interface Weather {
  readonly name: string
  readonly seconds: number
  readonly fault: (nth: number, method: string) => Fault | null
}

const weathers: readonly Weather[] = [
  { name: 'answers 500', seconds: 8, fault: () => 'answer 500' },
  { name: 'answers 503 SlowDown to two of three', seconds: 6, fault: (nth) => (nth % 3 === 0 ? null : 'slow down') },
  { name: 'takes 3 s for each request', seconds: 9, fault: () => 'wait' },
  { name: 'never answers every fourth request', seconds: 20, fault: (nth) => (nth % 4 === 0 ? 'stall' : null) },
  { name: 'is unreachable', seconds: 20, fault: () => 'cut before' },
  // Of the files of a run, one is stored and another is not, and neither can be removed.
  {
    name: 'refuses half of the writes, and removals',
    seconds: 8,
    fault: (nth, method) => (method === 'PUT' && nth % 2 === 0 ? null : 'refuse'),
  },
]

/** What clients of files saw. */
interface FileCounts {
  uploads: number
  stored: number
  downloads: number
  whole: number
  refused: number
  copies: number
  copied: number
}

/** Uploads, uses the upload as an input, and downloads the output, again and again. */
function startFileClients(url: string, key: string, many: number) {
  const counts: FileCounts = { uploads: 0, stored: 0, downloads: 0, whole: 0, refused: 0, copies: 0, copied: 0 }
  const wrong: string[] = []
  const client = openClient(url, key)
  const files: { url: string; file_id: string }[] = []
  const stop = new AbortController()
  const kept: string[] = []

  function refuse(what: string, { status, headers }: Response, body: any): void {
    if (status === 503 && headers.has('retry-after') && body.code === 'storage_unavailable') counts.refused += 1
    else wrong.push(`${what}: ${status} ${JSON.stringify(body)}`)
  }
  async function upload(): Promise<void> {
    counts.uploads += 1
    const answer = await fetch(`${url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'image/png' },
      body: picture,
    })
    const body: any = await answer.json()
    if (answer.status !== 201) return refuse('upload', answer, body)
    counts.stored += 1
    files.push(body)
    kept.push(body.url)
  }
  async function download(from: string): Promise<void> {
    counts.downloads += 1
    const answer = await fetch(from)
    if (answer.status !== 200) return refuse('download', answer, await answer.json())
    const bytes = await answer.arrayBuffer().catch(() => null)
    // A body that breaks off says so by its length.
    if (bytes === null) counts.refused += 1
    else if (Buffer.from(bytes).equals(picture)) counts.whole += 1
    else wrong.push(`download: ${bytes.byteLength} other bytes`)
  }
  async function copy(): Promise<void> {
    const file = files.at(-1)
    if (!file) return
    counts.copies += 1
    const { body } = await client.generate(copyModel, { image: file.file_id }, true)
    if (body.status === 'succeeded') {
      counts.copied += 1
      kept.push(body.outputs[0].url)
    } else if (!/^(output_not_stored|media_unavailable)$/.test(body.error?.code)) wrong.push(JSON.stringify(body))
  }
  async function again(...steps: readonly (() => Promise<void>)[]): Promise<void> {
    while (!stop.signal.aborted) {
      for (const step of steps) await step()
      await pause(paceMs)
    }
  }
  const working = Promise.all([
    ...Array.from({ length: many }, () => again(upload, copy)),
    again(async () => (kept.length > 0 ? download(kept.at(-1) ?? '') : undefined)),
  ])
  working.catch(() => {})
  return {
    counts,
    /** Ends them; every file that was acknowledged is there. */
    async end(): Promise<readonly string[]> {
      stop.abort()
      await working
      expect(wrong).toEqual([])
      counts.whole = 0
      for (const one of kept) await download(one)
      expect(counts.whole).toBe(kept.length)
      return kept
    },
  }
}

describe.skipIf(!hasPostgres)('a fleet under load, with a store of files', () => {
  let postgres: PostgresServer
  let s3: S3Server
  let road: Line
  beforeAll(async () => {
    ;[postgres, s3] = await Promise.all([startPostgres(), startS3()])
    road = await startLine(s3.endpoint)
    road.waitMs = 3000
  })
  afterAll(async () => {
    await road[Symbol.asyncDispose]()
    await Promise.all([postgres[Symbol.asyncDispose](), s3[Symbol.asyncDispose]()])
  })

  test('the store fails in every way: nothing is charged without its file, nothing acknowledged is lost, and all goes on', async () => {
    await using fleet = await startFleet({
      MEDIAGEN_DATABASE_URL: await postgres.createDatabase(),
      MEDIAGEN_FILES_URL: `s3://${bucketName}/fleet`,
      AWS_ENDPOINT_URL_S3: road.endpoint,
      AWS_ACCESS_KEY_ID: 'S3RVER',
      AWS_SECRET_ACCESS_KEY: 'S3RVER',
      MEDIAGEN_CATALOG: catalogs.join(':'),
    })
    const { line, apis } = fleet
    const [first, second] = apis
    if (!first || !second) throw new Error('two servers')
    // Each job of this model leaves a picture.
    const models = fleet.models.filter(({ id }) => id.includes('instant'))
    const load = await startLoad({ line, doors: apis.map(({ httpUrl }) => httpUrl), models, clients: 8, paceMs: 1500 })
    const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'files', '--credits', '10000'])
    const permissions = 'generate,jobs:read,wallet:read'
    const { key } = await line.json(['admin', 'keys', 'create', '--account', account_id, '--permissions', permissions])
    const clients = startFileClients(second.httpUrl, key, 2)
    await load.goesOn()

    const table: object[] = []
    for (const { name, seconds, fault } of weathers) {
      const before = { ...clients.counts }
      const acknowledgedBefore = load.acknowledged
      let nth = 0
      road.weather = (method) => fault((nth += 1), method)
      await pause(seconds * 1000)
      road.weather = () => null
      const goesOn = await load.goesOn()
      const seen = Object.entries(clients.counts).map(([what, count]) => [
        what,
        count - before[what as keyof FileCounts],
      ])
      const acknowledged = load.acknowledged - acknowledgedBefore
      table.push({ name, requests: nth, acknowledged, goesOn, ...Object.fromEntries(seen) })
    }

    await clients.end()
    const tally = await load.check(clients.counts.copies)
    console.table(table)
    expect(fleet.dead()).toEqual([])

    // Every output that is named is there and whole; what failed says why.
    const { send } = openClient(first.httpUrl, load.key)
    const named = new Set<string>()
    for (let offset = 0, total = 1; offset < total; offset += 100) {
      const { body } = await send(`/v1/jobs?limit=100&offset=${offset}`)
      total = body.total
      for (const job of body.data) {
        if (job.status === 'failed') expect(job.error.code).toBe('output_not_stored')
        for (const { url, sha256 } of job.outputs) {
          const bytes = Buffer.from(await (await fetch(url)).arrayBuffer())
          expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256)
          named.add(new URL(url).pathname.split('/')[2] ?? '')
        }
      }
    }
    const wallet = (await openClient(first.httpUrl, key).send('/v1/wallet')).body
    expect(wallet).toEqual({ available: 10_000 - clients.counts.copied * copyCredits, held: 0 })

    // What no record names is removed once it is old enough, and nothing else.
    const blobs = createS3Blobs({ bucket: toBucket(s3.endpoint), prefix: 'fleet/', signsUrls: false })
    const count = async () => (await Array.fromAsync(blobs.list(''))).length
    const files = await count()
    s3.age(2 * 3_600_000)
    const swept = await line.json(['admin', 'assets', 'sweep'])
    const nothing = { expired_files: 0, orphaned_files: 0, not_removed: [] }
    expect(swept.orphaned_files).toBeGreaterThan(0)
    expect(swept).toMatchObject({ ...nothing, orphaned_files: files - (await count()) })
    expect(await line.json(['admin', 'assets', 'sweep'])).toMatchObject(nothing)
    const keys = (await Array.fromAsync(blobs.list(''))).map((blob) => blob.key)
    expect(keys.filter((one) => one.startsWith('job_')).length).toBeGreaterThanOrEqual(named.size)
    await clients.end()
    console.table([{ ...tally, ...clients.counts, orphans: swept.orphaned_files }])
  })
})
