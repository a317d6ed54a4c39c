// Open-loop load: requests are due at a fixed rate, whether or not earlier ones were answered, as from many who know nothing of
// each other. Over a bounded number of connections, pipelined up to a bounded depth; what finds no room waits, and its time runs.
// Or as much as these connections can ask: each asks again when it is answered.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** What is asked, how fast and for how long. */
export interface OpenLoad {
  readonly port: number
  /** The bytes of one request. */
  readonly request: string
  /** Null: a request is due whenever a connection has room for it. */
  readonly perSecond: number | null
  readonly seconds: number
  readonly connections: number
  /** Most requests on one connection that have no answer yet. */
  readonly depth: number
}

/** An answer, in milliseconds of `performance.now()`. */
export interface TimedAnswer {
  readonly status: number
  /** Whether it says when to ask again. */
  readonly retryAfter: boolean
  /** When the request was to be sent. */
  readonly dueMs: number
  readonly answeredMs: number
}

interface Lane {
  readonly socket: Socket
  /** When the requests without an answer were due, the oldest first. */
  readonly due: number[]
  received: string
}

const connectsAtOnce = 250
// Whatever is not answered so long after the last was due never will be.
const patienceMs = 30_000

/** What came of a load. */
export interface LoadOutcome {
  /** When the first request was due, when all connections were open. */
  readonly startMs: number
  /** All answers, those after the last request was due included. */
  readonly answers: readonly TimedAnswer[]
}

/** Sends the load. @throws Error of a connection */
export async function sendOpenLoad(load: OpenLoad): Promise<LoadOutcome> {
  const lanes: Lane[] = []
  while (lanes.length < load.connections) {
    const more = Math.min(connectsAtOnce, load.connections - lanes.length)
    lanes.push(...(await Promise.all(Array.from({ length: more }, () => openLane(load.port)))))
  }
  const answers: TimedAnswer[] = []
  const { promise: over, resolve, reject } = Promise.withResolvers<void>()
  const { perSecond, depth } = load
  const startMs = performance.now()
  const endMs = startMs + load.seconds * 1000
  let sent = 0
  let next = 0
  for (const lane of lanes) {
    lane.socket.on('data', (text: string) => {
      readAnswers(lane, text, answers)
      if (answers.length === sent && countDue() === sent) resolve()
    })
    lane.socket.on('error', reject)
    lane.socket.on('close', () => reject(new Error('the server hung up')))
  }

  /** How many requests should have been sent by now. */
  function countDue(): number {
    const forMs = Math.min(performance.now(), endMs) - startMs
    if (perSecond !== null) return Math.floor((forMs / 1000) * perSecond)
    return performance.now() < endMs ? Number.POSITIVE_INFINITY : sent
  }

  /** Sends what is due, each on the next connection with room. */
  function tick(): void {
    const nowMs = performance.now()
    const due = countDue()
    const batches = new Map<Lane, number>()
    for (let full = 0; sent < due && full < lanes.length;) {
      const lane = lanes[next++ % lanes.length] as Lane
      if (lane.due.length >= depth) {
        full += 1
        continue
      }
      full = 0
      lane.due.push(perSecond === null ? nowMs : startMs + (sent / perSecond) * 1000)
      sent += 1
      batches.set(lane, (batches.get(lane) ?? 0) + 1)
    }
    for (const [lane, count] of batches) lane.socket.write(load.request.repeat(count))
    if (nowMs >= endMs && answers.length === sent && countDue() === sent) resolve()
  }
  const timer = setInterval(tick, 1)
  const giveUp = setTimeout(() => reject(new Error('requests stayed unanswered')), load.seconds * 1000 + patienceMs)
  try {
    await over
  } finally {
    clearInterval(timer)
    clearTimeout(giveUp)
    for (const { socket } of lanes) socket.destroy()
  }
  return { startMs, answers }
}

async function openLane(port: number): Promise<Lane> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  socket.setEncoding('latin1')
  await once(socket, 'connect')
  return { socket, due: [], received: '' }
}

/** Takes every whole answer out of what was received; all of them have a length. */
function readAnswers(lane: Lane, text: string, answers: TimedAnswer[]): void {
  const received = lane.received + text
  const answeredMs = performance.now()
  let at = 0
  for (;;) {
    const end = received.indexOf('\r\n\r\n', at)
    if (end < 0) break
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(received.slice(at, end))?.[1])
    if (Number.isNaN(length)) throw new Error(`an answer without a length: ${received.slice(at, end)}`)
    if (received.length < end + 4 + length) break
    const status = Number(received.slice(at + 9, at + 12))
    const retryAfter = status !== 200 && /\r\nretry-after: \d+/i.test(received.slice(at, end))
    answers.push({ status, retryAfter, dueMs: lane.due.shift() ?? Number.NaN, answeredMs })
    at = end + 4 + length
  }
  lane.received = received.slice(at)
}
