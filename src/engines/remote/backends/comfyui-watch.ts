// What ComfyUI sends about a run over its WebSocket: progress, and the drafts of samplers. The events of a run go to the client
// that submitted it. Its name is the id of the run, so a process that takes the run over gets the rest. The events of runs without
// a client go to all, so those that do not name this run are ignored.
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JsonValue } from '@mediagen/engine/engine.ts'
import type { Listener } from '../../../outgoing/listener.ts'
import type { UpstreamRef, Watch, Watched } from '../backend.ts'
import { type Connection, isObject } from '../connection.ts'

const hello = JSON.stringify({ type: 'feature_flags', data: { supports_preview_metadata: true } })
// Types of binary messages (protocol.py): a picture after its format, and one after words about it.
const plainPicture = 1
const namedPicture = 4
const pictureStarts = [Buffer.from([0xff, 0xd8, 0xff]), Buffer.from('\x89PNG', 'latin1')]
// The state of a thousand nodes; more are not reported.
const mostEventChars = 256 * 1024
const mostWordsBytes = 4096
// A few messages of progress a second are enough.
const sampleMs = 100
// A connection that ended is opened anew at the next look, then after two, four and more.
const mostSkippedLooks = 32
// Only success is the end.
const mostProgress = 0.99

/** Listens to a run of a workflow with so many nodes. */
export function watchRun(connection: Connection, { id }: UpstreamRef, nodeCount: number, run: Watched): Watch {
  const drafts = createDrafts(run)
  let listener: Listener | null = null
  let cached: string[] = []
  // The run that the last event named; older servers say of a picture only by that whose it is.
  let named: JsonValue | undefined
  let namesPictures = false
  let readAtMs = Number.NEGATIVE_INFINITY
  let opened = 0
  let looksToSkip = 0

  function onEvent({ type, data }: Readonly<Record<string, JsonValue>>): void {
    if (!isObject(data)) return
    if (type === 'feature_flags') namesPictures = data['supports_preview_metadata'] === true
    named = data['prompt_id'] ?? named
    if (data['prompt_id'] !== id) return
    const { nodes } = data
    if (type === 'execution_cached' && Array.isArray(nodes)) cached = nodes.map(String)
    if (type !== 'progress_state' || !isObject(nodes)) return
    const parts = new Map(cached.map((node) => [node, 1]))
    for (const [node, state] of Object.entries(nodes)) parts.set(node, toFraction(state))
    const done = [...parts.values()].reduce((sum, part) => sum + part, 0)
    run.onProgress(Math.min(mostProgress, done / Math.max(nodeCount, parts.size)))
  }

  function onPicture(message: Buffer): void {
    const type = message.readUInt32BE(0)
    const second = message.readUInt32BE(4)
    if (type === plainPicture && !namesPictures && named === id) drafts.show(message.subarray(8))
    if (type !== namedPicture || second > mostWordsBytes) return
    const words: unknown = JSON.parse(message.toString('utf8', 8, 8 + second))
    if (isObject(words) && words['prompt_id'] === id) drafts.show(message.subarray(8 + second))
  }

  function onText(message: string): void {
    // A long one is about many nodes: the next one says it all again.
    const isLong = message.length > mostWordsBytes
    if (message.length > mostEventChars || (isLong && performance.now() - readAtMs < sampleMs)) return
    const event: unknown = JSON.parse(message)
    if (isLong) readAtMs = performance.now()
    if (isObject(event)) onEvent(event)
  }

  return {
    renew() {
      if (listener && !listener.isClosed) return
      if (looksToSkip > 0) return void (looksToSkip -= 1)
      looksToSkip = opened === 0 ? 0 : Math.min(mostSkippedLooks, 2 ** (opened - 1))
      opened += 1
      named = undefined
      listener = connection.listen(`/ws?clientId=${id}`, {
        hello,
        onMessage(message) {
          if (typeof message === 'string') onText(message)
          else onPicture(message)
        },
      })
    },
    async [Symbol.asyncDispose]() {
      listener?.close()
      await drafts.end()
    },
  }
}

function toFraction(state: JsonValue): number {
  const { value, max } = isObject(state) ? state : {}
  const fraction = Number(value) / Number(max)
  return fraction >= 0 ? Math.min(1, fraction) : 0
}

/** Drafts, written one at a time: those that come meanwhile are dropped, as the next one comes soon. */
function createDrafts(run: Watched): { show(picture: Buffer): void; end(): Promise<void> } {
  const draft = '.draft'
  let path: string | null = null
  let writing: Promise<void> | null = null

  async function write(picture: Buffer): Promise<void> {
    path ??= join(await run.folder(), draft)
    // The runner takes the file at any time, and should find a whole one.
    await writeFile(`${path}.part`, picture)
    await rename(`${path}.part`, path)
    run.preview(draft)
  }

  return {
    show(picture) {
      if (writing || !pictureStarts.some((start) => picture.subarray(0, start.length).equals(start))) return
      writing = write(picture)
        .catch(() => {}) // It is only a draft.
        .finally(() => (writing = null))
    },
    async end() {
      await writing
      if (path) await Promise.all([path, `${path}.part`].map((file) => rm(file, { force: true })))
    },
  }
}
