// The built-in engine for tests of picture models: runs a model of the catalog file in real processes, as the runner does.

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { parse } from 'yaml'
import type { Engine, EngineSpec, JsonObject } from '@mediagen/engine/engine.ts'
import { createMediaFinder } from '../../../src/catalog/media-fields.ts'
import { createSchemaCompiler } from '../../../src/catalog/schema.ts'
import { createBuiltinEngine } from '../src/engine.ts'
import { dataUris } from '../../../src/media/data-uri.ts'
import { createRecogniser } from '../../../src/media/recognise.ts'
import { createMediaSource } from '../../../src/media/source.ts'
import { usualPictureBounds } from '@mediagen/engine/media.ts'
import { fetchMedia } from '../../../src/runner/media.ts'

const file = join(import.meta.dirname, '../catalog/image.yaml')

/** What ships as a picture model. */
export interface Entry {
  readonly id: string
  readonly engine: EngineSpec
  readonly input: JsonObject
}

/** What a run left. */
export interface Picture {
  readonly bytes: Buffer
  readonly name: string
  readonly progress: readonly number[]
}

export interface PictureEngine extends AsyncDisposable {
  readonly engine: Engine
  readonly entries: readonly Entry[]
  /**
   * Makes a picture.
   * @param id of the model, without `builtin/image/`
   */
  run(id: string, input: JsonObject, signal?: AbortSignal): Promise<Picture>
}

/** Starts an engine with two processes and a folder of its own. */
export async function startPictureEngine(): Promise<PictureEngine> {
  const { models: entries } = parse(await readFile(file, 'utf8')) as { models: Entry[] }
  const schemas = createSchemaCompiler()
  const engine = createBuiltinEngine({ poolSize: 2, warmUpAfterMs: null })
  const root = await mkdtemp(join(tmpdir(), 'picture-engine-'))
  return {
    engine,
    entries,
    async run(id, input, signal = new AbortController().signal) {
      const entry = entries.find((candidate) => candidate.id === `builtin/image/${id}`) as Entry
      const checked = schemas.compileInput(entry.input)(input)
      if (!checked.ok) throw new Error(JSON.stringify(checked.violations))
      const folder = await mkdtemp(join(root, 'run-'))
      const media = await fetchMedia(createMediaSource([dataUris], createRecogniser(usualPictureBounds)), {
        references: createMediaFinder(entry.input)(checked.input),
        accountId: 'acct_1',
        folder: `${folder}.media`,
        maxBytes: 100_000_000,
        signal,
      })
      const progress: number[] = []
      const result = await engine.run(entry.engine, {
        jobId: 'job',
        model: entry.id,
        attempt: 1,
        input: checked.input,
        media,
        checkpoint: null,
        folder,
        signal,
        onProgress: (fraction) => void progress.push(fraction),
        onCheckpoint: () => {},
      })
      const files = await readdir(folder)
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
