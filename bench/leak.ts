// Preloaded into the server of a soak that is to fail: keeps SOAK_LEAK_BYTES of heap for every request.
import { subscribe } from 'node:diagnostics_channel'
import { isMainThread } from 'node:worker_threads'

const slotBytes = 8
const slots = Math.ceil(Number(process.env['SOAK_LEAK_BYTES']) / slotBytes)
const kept: number[][] = []
if (isMainThread) subscribe('http.server.request.start', () => kept.push(Array.from({ length: slots }, () => 0)))
