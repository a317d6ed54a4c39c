// What brought the HTTP port down, or would: bounded attacks on the real program, whose memory, files and /healthz are watched.
// Each prints what it cost; docs/decisions/connections.md says what bounds it.
import { afterEach, expect, test } from 'vitest'
import { startTarget, type Target } from '../fuzz/target.ts'
import { openRaw, type RawConnection } from '../gateway/raw-http.ts'

const opened: RawConnection[] = []
afterEach(() => opened.splice(0).forEach(({ socket }) => socket.destroy()))

/** Opens connections that write something and read nothing. */
async function openUnread(url: string, count: number, bytes: string): Promise<RawConnection[]> {
  for (let i = 0; i < count; i++) {
    const connection = await openRaw(url)
    connection.socket.pause()
    connection.write(bytes)
    opened.push(connection)
  }
  return opened
}

/** Runs an attack against a server of its own; what it may cost is far below what it cost before, and far above noise. */
async function attack(name: string, most: { mb: number }, run: (target: Target) => Promise<void>): Promise<void> {
  await using target = await startTarget()
  const [mb, files] = [target.residentMb(), target.openFiles()]
  await run(target)
  const worst = target.worst()
  const turnMs = await target.longestTurnMs()
  console.log(
    `${name}: ${Math.round(mb)} MB before, ${worst.residentMb} MB at most; longest /healthz ${worst.healthzMs} ms, turn ${turnMs} ms; ${files} files before, ${target.openFiles()} after`,
  )
  expect(worst.alive).toBe(true)
  expect(target.errors).toEqual([])
  expect(worst.residentMb - mb).toBeLessThan(most.mb)
}

const patience = { timeout: 60_000 }

test('30 connections that ask 1500 times for a document and read none of it', patience, () =>
  attack('pipelined requests', { mb: 150 }, async (target) => {
    const before = target.openFiles()
    await openUnread(target.httpUrl, 30, 'GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(1500))
    await expect.poll(() => target.openFiles(), { timeout: 5000 }).toBeGreaterThan(before + 25)
    // Nobody reads: all are cut off when the time is over.
    await expect.poll(() => target.openFiles(), { timeout: 20_000 }).toBeLessThan(before + 5)
  }),
)

test('3000 connections from one address', patience, () =>
  attack('connections', { mb: 150 }, async (target) => {
    const before = target.openFiles()
    await openUnread(target.httpUrl, 3000, 'GET /healthz HTTP/1.1\r\nhost: x\r\n')
    // A thousand are served, and of those that are turned away a hundred at once are closed slowly, so that they can read why;
    // the rest is room for those that are being closed.
    expect(target.openFiles()).toBeLessThan(before + 1300)
  }),
)

test('bodies of 90,000 fields and of lists in lists, without a key and with one', patience, () =>
  attack('bodies of many values', { mb: 250 }, async (target) => {
    const fields = JSON.stringify(Object.fromEntries(Array.from({ length: 90_000 }, (_, i) => [`f${i}`, 1])))
    const bodies = [fields, '['.repeat(450_000) + ']'.repeat(450_000)]
    const statuses = new Set<number>()
    for (let round = 0; round < 20; round++)
      for (const body of bodies)
        for (const key of ['', target.key]) {
          const headers = { 'content-type': 'application/json', ...(key !== '' && { authorization: `Bearer ${key}` }) }
          const response = await fetch(`${target.httpUrl}/v1/quotes`, { method: 'POST', headers, body })
          statuses.add(response.status)
          await response.text()
        }
    expect(statuses).toEqual(new Set([400, 401]))
  }),
)

test('connections that come, send half a head and go again, 3000 times', patience, () =>
  attack('broken heads', { mb: 150 }, async (target) => {
    const before = target.openFiles()
    for (let wave = 0; wave < 30; wave++) {
      const connections = await Promise.all(Array.from({ length: 100 }, () => openRaw(target.httpUrl)))
      for (const { write } of connections) write('POST /v1/quotes HTTP/1.1\r\nhost: x\r\ncontent-le')
      for (const { socket } of connections) socket.destroy()
    }
    await expect.poll(() => target.openFiles(), { timeout: 10_000 }).toBeLessThan(before + 10)
  }),
)
