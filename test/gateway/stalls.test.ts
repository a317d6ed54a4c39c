// Requests whose head or body does not end, and connections without requests.
import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { Progress, type Watched } from '../../src/gateway/http/stalls.ts'

const bounds = { windowMs: 60_000, headMs: 60_000, answeredMs: 5000 }

/** A connection on which one request was answered, and its progress. */
function openIdle() {
  const connection = {
    bytesRead: 0,
    takenBytes: 0,
    headSinceMs: null as number | null,
    isHeld: false as boolean,
    unanswered: [],
    requests: 1,
    unfinished: null as IncomingMessage | null,
    writableLength: 0,
    get isIdle() {
      return this.unfinished === null
    },
  } satisfies Watched
  return { connection, progress: new Progress(connection, bounds) }
}

function request(): IncomingMessage {
  return { complete: false } as IncomingMessage
}

test('a client that sends one refused body after the other is not cut off', () => {
  const { connection, progress } = openIdle()
  for (let atMs = 0; atMs <= 20_000; atMs += 1000) {
    connection.unfinished = request()
    expect(progress.findStall(atMs)).toBeNull()
  }
})

test('a refused body that does not end is cut off', () => {
  const { connection, progress } = openIdle()
  connection.unfinished = request()
  expect([0, 4999, 5000].map((atMs) => progress.findStall(atMs))).toEqual([null, null, 'endless_body'])
})

test('a head that does not end is cut off, unless the server itself does not read', () => {
  const { connection, progress } = openIdle()
  connection.headSinceMs = 1000
  expect([60_999, 61_000].map((atMs) => progress.findStall(atMs))).toEqual([null, 'stalled_head'])
  connection.isHeld = true
  expect(progress.findStall(61_000)).toBeNull()
})

test('a connection is idle from the last byte that arrived, and never while a request is under way', () => {
  const { connection, progress } = openIdle()
  const isIdleAt = (atMs: number): boolean => progress.isIdleFor(5000, atMs)
  connection.requests = 0
  expect([0, 9000].map(isIdleAt), 'no request yet').toEqual([false, false])
  connection.requests = 1
  connection.unfinished = request()
  expect([10_000, 19_000].map(isIdleAt), 'its body arrives').toEqual([false, false])
  connection.unfinished = null
  expect([20_000, 24_000].map(isIdleAt)).toEqual([false, false])
  // The beginning of another head.
  connection.bytesRead = 110
  expect([25_000, 29_999, 30_000].map(isIdleAt)).toEqual([false, false, true])
})
