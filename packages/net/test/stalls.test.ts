// Bodies that go on after their requests were answered, and connections without requests.
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { type Connection, createConnection, noteDropped } from '../src/http/connection.ts'
import { findStall, isIdleFor } from '../src/http/stalls.ts'

const bounds = { windowMs: 60_000, answeredMs: 5000 }

function openIdle(socket: Partial<Socket> = { bytesRead: 0 }): Connection {
  return createConnection(Object.assign(socket, { writableLength: 0, isPaused: () => false }) as Socket, () => {})
}

test('a client that sends one refused body after the other is not cut off', () => {
  const connection = openIdle()
  for (let atMs = 0; atMs <= 20_000; atMs += 1000) {
    const dropped = noteDropped(connection, 1_000_000)
    expect(findStall(connection, bounds, atMs)).toBeNull()
    dropped.complete = true
  }
})

test('a refused body that does not end is cut off', () => {
  const connection = openIdle()
  noteDropped(connection, 1_000_000)
  expect([0, 4999, 5000].map((atMs) => findStall(connection, bounds, atMs))).toEqual([null, null, 'endless_body'])
})

test('a connection is idle from the last byte that arrived, and never while a request is under way', () => {
  const socket = { bytesRead: 100 }
  const connection = openIdle(socket)
  const isIdleAt = (atMs: number): boolean => isIdleFor(connection, 5000, atMs)
  expect([0, 9000].map(isIdleAt), 'no request yet').toEqual([false, false])
  const dropped = noteDropped(connection, 1_000_000)
  expect([10_000, 19_000].map(isIdleAt), 'its body arrives').toEqual([false, false])
  dropped.complete = true
  expect([20_000, 24_000].map(isIdleAt)).toEqual([false, false])
  // The beginning of another head.
  socket.bytesRead = 110
  expect([25_000, 29_999, 30_000].map(isIdleAt)).toEqual([false, false, true])
})
