// What each built-in model takes at its default input, processor and memory, against its price: 1 credit is about 1 CPU second.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtinCatalog } from '@mediagen/builtin/catalog.ts'
import { createBuiltinEngine } from '@mediagen/builtin/engine.ts'
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import sharp from 'sharp'
import { loadCatalog } from '../src/catalog/load.ts'
import type { Model } from '../src/catalog/model.ts'
import { priceUsage } from '../src/catalog/prices/pricing.ts'
import { type Bench, makeFolder, type Row } from './bench.ts'
import { runScript } from './run-pinned.ts'

/** As far as a price may be off, up and down. */
const factor = 2
const pictures = 5

/** What one render took. */
interface Taken {
  readonly cpuSeconds: number
  readonly rssBytes: number
  readonly bytes: number
  readonly usage: Readonly<Record<string, number>>
}

/** Runs the benchmark. */
export async function benchMedia(bench: Bench): Promise<readonly Row[]> {
  const folder = makeFolder(bench)
  const picture = join(folder, 'picture.png')
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const
  const photo = sharp({ create: { width: 1200, height: 800, channels: 3, background: '#808080', noise } }).blur(6)
  await photo.png().toFile(picture)
  const rows: Row[] = []
  for (const model of loadCatalog(builtinCatalog, [createBuiltinEngine()]).filter(
    ({ engine }) => engine.kind === 'builtin',
  )) {
    process.stderr.write(`  ${model.id} …\n`)
    const checked = model.checkInput(defaultInput(model.inputSchema))
    if (!checked.ok) throw new Error(`The examples of ${model.id} are no input: ${JSON.stringify(checked.violations)}`)
    const media = Object.fromEntries(model.mediaOf(checked.input).map(({ pointer }) => [pointer, picture]))
    const task = join(folder, 'task.json')
    const { input } = checked
    const price = model.usagePrice(input)
    writeFileSync(task, JSON.stringify({ renderer: model.engine['renderer'], input, media, file: `${task}.out` }))
    const taken = (await runScript(bench.cores, 'media-render.ts', [task])) as Taken
    rows.push(toRow(model, taken, price ? priceUsage(price, taken.usage) : model.quotedPrice(input)))
  }
  return rows
}

/** What a schema requires, by its examples; a list of pictures has several. */
function defaultInput({ properties, required }: JsonObject): JsonObject {
  const fields = properties as Record<string, { type?: string; examples?: JsonValue[] }>
  return Object.fromEntries(
    ((required ?? []) as string[]).map((name) => {
      const { examples: [example = null] = [] } = fields[name] ?? {}
      const isPictures = Array.isArray(example) && String(example[0]).startsWith('data:')
      return [name, isPictures ? Array.from({ length: pictures }, () => example[0] as JsonValue) : example]
    }),
  )
}

function toRow({ id }: Model, { cpuSeconds, rssBytes, bytes }: Taken, credits: number): Row {
  const ratio = cpuSeconds / credits
  return {
    what: id.replace('builtin/', ''),
    value: `${ratio.toFixed(2)} s for a credit`,
    byCpu: '',
    target: `${1 / factor}–${factor}`,
    // Nothing that is made costs less than a credit.
    reached: ratio <= factor && (ratio >= 1 / factor || credits === 1),
    figures: `${cpuSeconds.toFixed(2)} s, ${credits} credits, ${Math.round(rssBytes / 1e6)} MB at most, file ${Math.round(bytes / 1000)} kB`,
  }
}
