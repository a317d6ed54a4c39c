// The null engine makes nothing, in this process, so load tests measure everything except the engine.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Engine, EngineError, type EngineRun, type EngineSpec } from '@mediagen/engine/engine.ts'

const pictureName = 'out.png'
/** A PNG of one grey pixel. */
const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg==',
  'base64',
)

/**
 * Creates the engine of kind `null`, whose spec is `{ delay_ms?, picture? }`: a run lasts `delay_ms` (default 0, which
 * is no timer at all) and leaves nothing, or with `picture: true` a picture of one pixel, which is checked and stored
 * like any output. `run` throws EngineError `canceled`.
 */
export function createNullEngine(): Engine {
  const closing = new AbortController()
  return {
    kind: 'null',
    schema: {
      properties: { delay_ms: { type: 'integer', minimum: 0, maximum: 86_400_000 }, picture: { type: 'boolean' } },
    },
    waits: () => true,
    unready: async () => null,
    afterLoss: () => 'again',
    async run(spec, run) {
      const { delay_ms: delayMs } = spec
      if (typeof delayMs === 'number' && delayMs > 0)
        await sleep(delayMs, AbortSignal.any([run.signal, closing.signal]))
      return { files: await leave(spec, run), usage: {} }
    },
    close: async () => closing.abort(),
  }
}

async function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  await pause(delayMs, undefined, { signal }).catch((cause: unknown) => {
    throw new EngineError('canceled', 'The run was stopped.', false, { cause })
  })
}

async function leave({ picture: wanted }: EngineSpec, run: EngineRun): Promise<readonly string[]> {
  if (wanted !== true) return []
  await writeFile(join(await run.folder(), pictureName), picture)
  return [pictureName]
}
