// The built-in engine for tests of picture models: runs a model of the catalog file in real processes, as the runner does.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine, JsonObject } from '@mediagen/engine/engine.ts'
import { runOf } from '@mediagen/engine/run-of.ts'
import sharp from 'sharp'
import { completeInput, findEntry, handIn } from '../catalog/entries.ts'
import { createBuiltinEngine } from '../src/engine.ts'
import { listOutputs } from './outputs.ts'

/** What a run left. */
export interface Picture {
  readonly bytes: Buffer
  readonly name: string
  readonly progress: readonly number[]
}

export interface PictureEngine extends AsyncDisposable {
  readonly engine: Engine
  /**
   * Makes a picture.
   * @param id of the model, without `builtin/image/`
   */
  run(id: string, input: JsonObject, signal?: AbortSignal): Promise<Picture>
}

/** Starts an engine with two processes and a folder of its own. */
export async function startPictureEngine(): Promise<PictureEngine> {
  const engine = createBuiltinEngine({ poolSize: 2 })
  const root = await mkdtemp(join(tmpdir(), 'picture-engine-'))
  return {
    engine,
    async run(id, input, signal = new AbortController().signal) {
      const entry = findEntry(`builtin/image/${id}`)
      const completed = completeInput(entry, input)
      const folder = await mkdtemp(join(root, 'run-'))
      const media = await handIn(entry, completed, `${folder}.media`)
      const progress: number[] = []
      const onProgress = (fraction: number) => void progress.push(fraction)
      const run = runOf({ input: completed, media: async () => media, folder, signal, onProgress })
      const result = await engine.run(entry.engine, run)
      const files = await listOutputs(folder)
      if (files.join() !== result.files.join()) throw new Error(`left ${files.join()}, said ${result.files.join()}`)
      const name = result.files[0] as string
      return { bytes: await readFile(join(folder, name)), name, progress }
    },
    async [Symbol.asyncDispose]() {
      await engine.close()
      await rm(root, { recursive: true, force: true })
    },
  }
}

/** A picture of one colour, as PNG. */
export function solid(width: number, height: number, background: string): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 4, background } })
    .png()
    .toBuffer()
}

/** How an input hands a file in. */
export function dataUri(bytes: Buffer, type = 'image/png'): string {
  return `data:${type};base64,${bytes.toString('base64')}`
}
