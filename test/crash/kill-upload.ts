// The real server is killed with SIGKILL while files are uploaded: what was acknowledged is whole, what was not is nowhere.
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, utimesSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { basename, join } from 'node:path'
import { expect } from 'vitest'
import { type CommandLine, createTestAccount, openClient, openCommandLine } from '../cli/command-line.ts'
import { listIntake, listUploads } from '../files-on-disk.ts'
import { openForeignClient } from '../rpc/foreign-client.ts'

const clients = 4
// An upload counts as so many bytes at least.
const leastCountedBytes = 65_536
const picture = readFileSync(join(import.meta.dirname, '../models/picture.png'))

interface FileRecord {
  readonly file_id: string
  readonly url: string
  readonly sha256: string
  readonly bytes: number
}

/** Kills a server so many times while files are uploaded, and holds that what was acknowledged is whole, and nothing else is there. */
export async function killUnderUploads(kills: number): Promise<void> {
  await using line = openCommandLine({ MEDIAGEN_RATE_LIMIT: '0', MEDIAGEN_BYTE_RATE: '0' })
  const { accountId, key } = await createTestAccount(line)
  const acknowledged: FileRecord[] = []
  const sent: string[] = []
  for (let kill = 0; kill < kills; kill++) {
    const server = await line.serve()
    const { host, port } = new URL(server.httpUrl)
    // One that has come half-way for certain, and others at whatever point they are.
    const half = beginUpload(Number(port), host, key)
    // The start of this server removed what the one before left.
    await expect.poll(() => listIntake(line.dataDir).length).toBe(1)
    const load = Array.from({ length: clients }, () => uploadUntilGone(server.httpUrl, key, sent, acknowledged))
    const enough = acknowledged.length + clients
    await expect.poll(() => acknowledged.length).toBeGreaterThanOrEqual(enough)
    await server.stop('SIGKILL')
    await Promise.all(load)
    half.destroy()
    expect(listIntake(line.dataDir).length).toBeGreaterThanOrEqual(1)
  }

  const files = await listFiles(line, key)
  const ids = new Set(files.map(({ file_id }) => file_id))
  expect(listIntake(line.dataDir)).toEqual([])
  // A whole file may be there without its record; once it is as old as files get, the next start removes it.
  const orphans = listUploads(line.dataDir).filter((folder) => !ids.has(basename(folder)))
  const old = new Date(Date.now() - 2 * 3_600_000)
  for (const path of orphans.flatMap((folder) => [...filesIn(folder), folder])) utimesSync(path, old, old)
  const usage: { kind: string }[] = await line.json(['admin', 'assets', 'usage'])
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  expect(usage.find(({ kind }) => kind === 'uploads')).toMatchObject({
    account_id: accountId,
    files: files.length,
    bytes,
  })
  expect(usage.filter(({ kind }) => kind === 'orphans')).toMatchObject(
    orphans.length === 0 ? [] : [{ account_id: null, files: orphans.length }],
  )

  // An upload may be durable although its answer was lost; nothing else is.
  expect(files.map(({ file_id }) => file_id)).toEqual(
    expect.arrayContaining(acknowledged.map(({ file_id }) => file_id)),
  )
  expect(files.length).toBeLessThanOrEqual(sent.length)

  const server = await line.serve({
    MEDIAGEN_RETAIN_HOURS: '1',
    MEDIAGEN_UPLOAD_ROOM_BYTES: String((files.length + 1) * leastCountedBytes),
  })
  await expect.poll(() => listUploads(line.dataDir).length).toBe(files.length)
  const { data } = (await openClient(server.httpUrl, key).send('/v1/files?limit=500')).body as { data: FileRecord[] }
  expect(data.length).toBe(Math.min(500, files.length))
  for (const { url, sha256, ...record } of data) {
    const content = Buffer.from(await (await fetch(url)).arrayBuffer())
    expect([content.length, digest(content)]).toEqual([record.bytes, sha256])
    expect(sent).toContain(sha256)
  }
  // The same file again, as if nothing had happened; then the room is full to the byte.
  expect((await post(server.httpUrl, key, picture)).status).toBe(201)
  expect((await post(server.httpUrl, key, picture)).body.code).toBe('too_many_uploads')
  process.stdout.write(`${kills} kills, ${sent.length} uploads begun, ${acknowledged.length} acknowledged\n`)
}

/** Tells a server to stop while files are uploaded, and holds that nothing of them is left. */
export async function stopUnderUploads(): Promise<void> {
  await using line = openCommandLine()
  const { key } = await createTestAccount(line)
  const server = await line.serve()
  const { host, port } = new URL(server.httpUrl)
  using client = await openForeignClient(server.grpcUrl, key)
  const socket = beginUpload(Number(port), host, key)
  const { call, done } = client.beginUpload('FilesService/UploadFile')
  call.write({ header: {} })
  call.write({ chunk: picture })
  const refused = done.then(
    () => 'stored',
    ({ status }) => status,
  )
  await expect.poll(() => listIntake(line.dataDir).length).toBe(2)
  expect((await server.stop()).status).toBe(0)
  expect(await refused).not.toBe('stored')
  expect([listUploads(line.dataDir), listIntake(line.dataDir)]).toEqual([[], []])
  socket.destroy()
}

/** Sends the head and half of a file, and no more. */
function beginUpload(port: number, host: string, key: string): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(
    `POST /v1/files HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\nContent-Type: image/png\r\nContent-Length: 100000\r\n\r\n`,
  )
  socket.write(Buffer.concat([picture, randomBytes(50_000 - picture.length)]))
  return socket
}

/** Uploads one file after the other until the server is gone. */
async function uploadUntilGone(url: string, key: string, sent: string[], acknowledged: FileRecord[]): Promise<void> {
  while (true) {
    const file = Buffer.concat([picture, randomBytes(40_000)])
    sent.push(digest(file))
    try {
      const { status, body } = await post(url, key, file)
      if (status !== 201) throw new Error(`the upload was refused: ${JSON.stringify(body)}`)
      acknowledged.push(body as FileRecord)
    } catch (error) {
      // fetch throws a TypeError when the connection breaks, and an answer that was cut off is no JSON.
      if (error instanceof TypeError || error instanceof SyntaxError) return
      throw error
    }
  }
}

async function post(url: string, key: string, body: Buffer): Promise<{ status: number; body: any }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'image/png' }
  const response = await fetch(`${url}/v1/files`, { method: 'POST', headers, body: new Uint8Array(body) })
  return { status: response.status, body: await response.json() }
}

/** All uploads, asked of a server that starts for it and stops. */
async function listFiles(line: CommandLine, key: string): Promise<FileRecord[]> {
  const server = await line.serve({ MEDIAGEN_ROLES: 'api' })
  const client = openClient(server.httpUrl, key)
  const files: FileRecord[] = []
  for (let more = true; more;) {
    const { body } = await client.send(`/v1/files?limit=500&offset=${files.length}`)
    files.push(...(body.data as FileRecord[]))
    more = body.has_more as boolean
  }
  await server.stop()
  return files
}

function filesIn(folder: string): string[] {
  return readdirSync(folder).map((name) => join(folder, name))
}

function digest(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}
