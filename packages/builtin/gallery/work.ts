// The gallery's work: makes a sample with the engine and keeps it under a key that says what it was made from.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { Engine, JsonObject } from '@mediagen/engine/engine.ts'
import { runOf } from '@mediagen/engine/run-of.ts'
import { type Entry, handIn } from '../catalog/entries.ts'
import { drawMusic } from './score-picture.ts'
import { drawSound } from './sound-picture.ts'

/** What was made. */
export interface Made {
  /** Names of files in the folder of works. */
  readonly file: string
  readonly drawing: string | null
  readonly bytes: number
  /** By the clock, while others may have worked too. */
  readonly seconds: number
}

/** A sample that is to be there. */
export interface Work {
  readonly model: Entry
  readonly title: string
  readonly group: string
  /** Valid, defaults applied. */
  readonly input: JsonObject
  /** Changes with the input and with the code that makes it. */
  readonly key: string
}

/** The key of an input for a model whose code has this digest. */
export function keyOf(model: Entry, input: JsonObject, sources: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([model.id, input, sources]))
    .digest('hex')
  return `${model.id.replace(/^builtin\//, '').replaceAll('/', '-')}-${hash.slice(0, 12)}`
}

/** The work with this key; null if it is missing or incomplete. */
export function findMade(folder: string, key: string): Made | null {
  const record = join(folder, `${key}.json`)
  if (!existsSync(record)) return null
  const made = JSON.parse(readFileSync(record, 'utf8')) as Made
  return existsSync(join(folder, made.file)) ? made : null
}

/** Makes a sample. Its record is written last, so an interrupted sample is made again. */
export async function makeWork(engine: Engine, folder: string, { model, input, key }: Work): Promise<Made> {
  const run = join(folder, `${key}.run`)
  rmSync(run, { recursive: true, force: true })
  mkdirSync(join(run, 'out'), { recursive: true })
  const startedMs = performance.now()
  try {
    const media = (): ReturnType<typeof handIn> => handIn(model, input, join(run, 'media'))
    await engine.run(model.engine, runOf({ jobId: key, model: model.id, input, media, folder: join(run, 'out') }))
    const seconds = (performance.now() - startedMs) / 1000
    const [output] = readdirSync(join(run, 'out'))
    if (output === undefined) throw new Error('nothing was made')
    const file = `${key}${extname(output)}`
    renameSync(join(run, 'out', output), join(folder, file))
    const path = join(folder, file)
    const drawing = extname(file) === '.wav' ? `${key}.png` : null
    if (drawing !== null) {
      const isMusic = model.engine['renderer'] === 'music'
      const sound = await drawSound(readFileSync(path))
      writeFileSync(join(folder, drawing), isMusic ? await drawMusic(input, sound) : sound)
    }
    const made = { file, drawing, bytes: statSync(path).size, seconds }
    writeFileSync(join(folder, `${key}.json`), JSON.stringify(made))
    return made
  } finally {
    rmSync(run, { recursive: true, force: true })
  }
}

/** Removes all files that belong to none of the keys. */
export function removeOthers(folder: string, keys: ReadonlySet<string>): void {
  for (const name of readdirSync(folder))
    if (!keys.has(name.slice(0, name.indexOf('.')))) rmSync(join(folder, name), { recursive: true, force: true })
}
